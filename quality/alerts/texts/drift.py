"""What is said of a rater who drifts."""

from __future__ import annotations

from django.utils.translation import gettext as _

from quality.models import Alarm, Measure

from .common import guidelines, told, when


def sentence(alarm: Alarm) -> str:
    if alarm.other_id is not None:
        said = _(
            "%(rater)s and %(other)s moved apart, by about %(size)s on average since %(since)s."
            " Nothing tells which of the two moved."
        )
    elif alarm.measure == Measure.AGREEMENT:
        said = _(
            "%(rater)s agrees less with everybody than before: by about %(size)s in kappa on"
            " average since %(since)s."
        )
    elif alarm.size < 0:
        said = _(
            "%(rater)s rates lower than before: by about %(size)s categories on average since"
            " %(since)s."
        )
    else:
        said = _(
            "%(rater)s rates higher than before: by about %(size)s categories on average since"
            " %(since)s."
        )
    return said % told(alarm)


def brief(alarm: Alarm, rater: int) -> str:
    """The same at the name of ``rater``, in a table."""
    if alarm.other_id is not None:
        other = alarm.other if alarm.rater_id == rater else alarm.rater
        said = _("apart from %(name)s by about %(size)s since %(since)s")
        return said % {**told(alarm), "name": other}
    if alarm.measure == Measure.AGREEMENT:
        said = _("agrees less than before, by about %(size)s, since %(since)s")
    elif alarm.size < 0:
        said = _("rates lower than before, by about %(size)s, since %(since)s")
    else:
        said = _("rates higher than before, by about %(size)s, since %(since)s")
    return said % told(alarm)


def basis(alarm: Alarm) -> list[str]:
    said = _(
        "It rests on %(n)s items of this rater that others rated too, up to %(noticed)s, and on"
        " %(before)s before."
    )
    return [said % told(alarm), *when(alarm), _others(alarm)]


def _others(alarm: Alarm) -> str:
    """Whether somebody else moved in the same days."""
    also = Alarm.objects.filter(
        question=alarm.question_id,
        kind=alarm.kind,
        since__lte=alarm.noticed,
        noticed__gte=alarm.since,
    )
    names = [
        str(one.rater)
        for one in also.exclude(pk=alarm.pk).select_related("rater").defer("chart")
        if one.rater_id != alarm.rater_id
    ]
    if not names:
        return _("Nobody else moved in these days.")
    return _("Others moved in these days too: %(names)s.") % {"names": ", ".join(sorted(names))}


def explanations(alarm: Alarm) -> list[str]:
    return [
        *guidelines(alarm),
        _("Other kinds of items than before: look at those below."),
        _("One category that is used otherwise: see the shares."),
        _("Peers who came, went or differ are no explanation: their own levels are taken out."),
    ]
