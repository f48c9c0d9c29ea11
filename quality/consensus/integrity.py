"""Are the stored labels what the ratings come to? They are made again in memory and compared."""

from __future__ import annotations

from metrics.scale import QuestionScale
from projects.models import Item, Question
from quality.models import Consensus

from . import input_version, recompute, storage, votes
from .fit import fit


def differences(question_id: int) -> list[str]:
    """Where stored labels differ from those made anew; none while they wait to be made anew
    anyway."""
    row = Consensus.objects.filter(question=question_id).first()
    if row is None or row.made_at is None or input_version.is_old(row):
        return []
    question = Question.objects.prefetch_related("categories").get(pk=question_id)
    scale = QuestionScale.of(question)
    fixed = votes.fixed_of(question)
    said = votes.of_question(question, with_models=row.with_models)
    labels = fit(said, scale, fixed, method=row.method)
    fresh = {one[1]: one for one in storage.label_rows(question_id, labels, fixed, scale)}
    stood = {one[0]: one[1:] for one in storage.standing(question_id)}
    wrong = {item for item, one in fresh.items() if storage.differs(stood.get(item), one)}
    wrong |= stood.keys() - fresh.keys()
    keys = Item.objects.in_bulk(wrong)
    return [f"label of item {keys[item].key}: not the one made anew" for item in sorted(wrong)]


def repair(question_id: int) -> bool:
    """Make the labels anew now."""
    return recompute.renew(question_id, at_once=True)
