"""Guesses of a column's role from its name.

Names are compared without case, separators and camel case: TextID, text_id and textid are equal.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

from ratings.imports.problems import UnreadableFileError, truncate_text


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Parts of an item's body that the annotation page renders specially, one column each.
CONTENT_ROLES = ("text", "html", "image", "audio", "video")
MEDIA_ROLES = ("image", "audio", "video")
# Roles that one column can have.
ROLES = (
    "item",
    *CONTENT_ROLES,
    "gold",
    "rater",
    "label",
    "rated_at",
    "comment",
    "seconds",
    "guidelines",
    "question",
    "model",
    "prompt_version",
)
MODEL_ROLES = ("model", "prompt_version")  # roles that describe a rater who is a model
# Roles that several columns can have. The columns of `ignore` are not imported.
MULTI_COLUMN_ROLES = ("content", "attributes", "ignore")
# Roles of a table with a row for each rater and a column for each item.
RESPONDENT_ROLES = frozenset({"rater", "rated_at"})
# Role -> column names that suggest it, the most reliable first.
NAMES_BY_ROLE = {
    "item": (
        "item item_id item_key id key task task_id document document_id doc doc_id text_id unit "
        "unit_id example example_id segment segment_id subject_id patient_id case_id tweet_id "
        "post_id comment_id sentence_id image_id photo_id video_id clip_id article_id review_id "
        "record_id sample_id object_id lesion_id topic_id query_id question_id slide_id scan_id "
        "passage_id paper_id essay_id abstract_id fall_id subject patient case fall patientin "
        "proband sujet cas caso 条目 样本 编号 specimen slide scan stimulus trial paper essay wine "
        "lesion topic image photo object record sample units file filename statement aussage mrn"
    ),
    "rater": (
        "rater rater_id annotator annotator_id worker worker_id user user_id username user_name "
        "coder coder_id judge judge_id reader reader_id observer observer_id labeler labeller "
        "labeler_id labeller_id labelled_by labeled_by annotated_by rated_by coded_by reviewed_by "
        "reviewer reviewer_id evaluator evaluator_id assessor assessor_id grader grader_id "
        "examiner marker scorer physician radiologist pathologist clinician doctor expert "
        "expert_id participant participant_id respondent respondent_id author completed_by "
        "surgeon nurse dentist therapist technician sonographer anaesthetist anesthetist operator "
        "creator created_by createdby gutachter gutachterin untersucher bewerter beurteiler "
        "kodierer annotateur evaluateur juge evaluador anotador juez 标注员 标注者 评分员"
    ),
    "label": (
        "label labels rating category code answer score value annotation judgement judgment "
        "severity class choice response verdict grade urteil note_globale etiqueta 标签"
    ),
    "rated_at": (
        "rated_at timestamp tstamp time date datetime created created_at submitted submitted_at "
        "submit_time submitdate date_submitted completion_time completed_at updated_at ts datum "
        "zeitpunkt zeitstempel zeit uhrzeit horodateur horodatage fecha marca_temporal 时间 日期 "
        "时间戳 时间戳记"
    ),
    "comment": "comment comments note notes remark remarks rationale explanation reason",
    "question": "question question_key",
    "seconds": (
        "seconds lead_time duration time_spent seconds_spent time rt time_spent_in_seconds "
        "time_spent_seconds duration_seconds duration_in_seconds duration_s worktimeinseconds "
        "work_time_in_seconds elapsed_time elapsed_seconds time_taken annotation_time"
    ),
    "guidelines": "guidelines guidelines_version",
    "model": "model",
    "prompt_version": "prompt_version",
    "gold": (
        "gold gold_label label_gold gold_answer gold_standard ground_truth ground_truth_label "
        "truth true_label label_true gt gt_label expected expected_label correct_label "
        "correct_answer reference_standard reference_label label_reference reference_answer"
    ),
    "text": (
        "text content sentence body passage message tweet utterance post review review_text "
        "document_text input prompt"
    ),
    "html": "html",
    "image": "image image_url picture picture_url photo img",
    "audio": "audio audio_url sound sound_url recording",
    "video": "video video_url film film_url",
}
# Column names that suggest content, shown to raters under the column's name.
CONTENT_PART_NAMES = (
    "source target translation reference hypothesis premise instruction question prompt context "
    "title response response1 response2 response_1 response_2 response_a response_b answer_a "
    "answer_b completion output summary"
)
# Words in the name of a column that was computed from the ratings, or by a program.
_DERIVED_WORDS = _split_words(
    "majority consensus adjudicated adjudication adjudicator resolved reconciled final aggregated "
    "aggregate combined mace dawid glad mean avg average median mode total sum std sd variance "
    "var_coef entropy agreement agree disagreement kappa alpha prob probs probability "
    "probabilities confidence conf prediction predicted pred predictions softmax logit logits "
    "trust agreed resolution tiebreaker tiebreak mehrheit konsens mittelwert summe moyenne mayoria "
    "多数 平均"
)
_ANSWER_WORDS = _split_words(
    "label labels rating ratings annotation annotations annotator annotators vote votes judgment "
    "judgments judgement judgements responses coder coders rater raters verdict"
)
# Names of columns that compare the raters of a row.
_COMPARISON_NAMES = _split_words(
    "match matches matched same identical equal diff difference delta discrepancy "
    "discrepant conflict conflicts concordant concordance discordant disagree "
    "gleich unterschied differenz abweichung übereinstimmung accord écart coincide diferencia "
    "一致 差异"
)
_DERIVED_ENDINGS = ("_score", "_scores", "_prob", "_mean", "_avg", "_count", "_total", "_sum")
_DERIVED_STARTS = ("n_", "num_", "count_", "nb_", "p_")
# Names of columns that describe an item, a rater or the way in which the data were collected.
_DESCRIPTIVE_NAMES = _split_words(
    "sex gender age agegroup birthyear education degree race ethnicity nationality country region "
    "city state language lang userlanguage religion occupation income handedness startdate enddate "
    "recordeddate starttime endtime status progress finished duration durationinseconds ipaddress "
    "ip responseid sessionid session recipientlastname recipientfirstname recipientemail "
    "externalreference locationlatitude locationlongitude latitude longitude distributionchannel "
    "channel version batch split fold set group arm condition treatment site center centre clinic "
    "hospital source domain platform device browser year month week day date time timestamp order "
    "round wave phase session trial block essayset roundno "
    "position index rownumber row line complete email name firstname lastname surname weight "
    "height geschlecht alter land sexe pais edad 性别 年龄 seed token lastpage refurl "
    "startlanguage collectorid customdata1 networkid reactiontime projectid projectname"
)
_DESCRIPTIVE_ENDINGS = ("_complete", "_timestamp", "_date", "_time", "_url", "_order", "_batch")
_DESCRIPTIVE_STARTS = ("redcap_", "batch_", "hit_", "assignment_")
_DESCRIPTIVE_WORDS = _split_words("sex gender age ethnicity race")
# Columns that only the responses to a survey have.
_SURVEY_NAMES = _split_words(
    "submitdate datesubmitted lastpage startlanguage collectorid completiontime submittedat "
    "respondentid responseid startedtime zeitstempel horodateur marcatemporal 时间戳记 时间戳"
)
# Columns of results: agreement that another program computed.
_RESULT_NAMES = _split_words(
    "kappa cohenskappa cohenkappa fleisskappa krippendorffsalpha krippendorffalpha icc "
    "agreementpercent percentagreement"
)
# Columns of numbers of rows: a table of combinations and how often each occurs.
_FREQUENCY_NAMES = _split_words(
    "freq frequency frequencies count counts n weight wt num number haufigkeit anzahl effectif "
    "frecuencia 频数 数量"
)
# Beginnings of names that are numbered where the columns are raters: rater_1, R1, RaterA, label1.
RATER_STEMS = _split_words(
    "r rater raters a ann anno annot annotator annotation c coder code coding j judge judgement "
    "judgment reader observer obs o reviewer review rev expert exp e worker w label labels labeler "
    "labeller grader grade assessor assessment evaluator eval evaluation rating ratings score "
    "scorer person user u physician doctor dr md radiologist rad pathologist clinician nurse "
    "examiner marker turker crowdworker crowd vote voter answer human humanrater llm model system "
    "participant respondent student teacher expertrater humanannotator gutachter gutachterin "
    "bewerter beurteiler kodierer evaluateur juge codeur annotateur evaluador juez codificador "
    "anotador 标注员 标注者 评分员 评审"
)
# Those that number answers, which may be of one person.
LABEL_STEMS = _split_words(
    "label labels code coding score rating ratings grade evaluation eval assessment judgement "
    "judgment annotation annot anno ann vote answer response"
)
# Beginnings of numbered names that are questions, items or classes instead.
OTHER_STEMS = _split_words(
    "q question item frage photo image picture cat category class kategorie klasse x v var feature "
    "f dim criterion aspect option choice topic prob p pc factor component column field text "
    "sentence response passage"
)
# Words of names of columns that are criteria, emotions or classes, each a question, and no raters.
_CRITERIA = _split_words(
    "fluency fluent adequacy coherence coherent relevance relevant accuracy factuality factual "
    "faithfulness groundedness helpfulness helpful harmlessness harmful honesty warmth competence "
    "clarity clear quality toxicity toxic severe obscene threat insult identity hate hateful "
    "offensive sentiment stance emotion valence arousal dominance overall empathy readability "
    "grammar style consistency completeness correctness safety informativeness naturalness "
    "creativity depth conciseness verbosity engagement usefulness novelty soundness presentation "
    "originality significance content organization organisation conventions vocabulary structure "
    "joy anger fear sadness disgust surprise trust love optimism neutral positive negative mixed "
    "bias fairness tone politeness complexity coverage fidelity simplicity meaning understanding "
    "pos neg neu yes no agree disagree true false "
    "sarcasm irony humor humour spam abuse abusive profanity violence sexual racism sexism"
)
# Names in a column of raters that stand for no person: the result of several raters.
_MERGED_RATERS = _split_words(
    "consensus majority majorityvote majoritylabel adjudicated aggregated aggregate merged "
    "finallabel konsens mehrheit consenso 共识 多数"
)
# Names that number the parts of a document, conversation or patient.
_KEY_PARTS = _split_words(
    "sentence sent segment seg turn line paragraph para utterance frame page chunk token span clip "
    "position index row number nr no lesion tooth eye side slide image question response answer "
    "satz absatz zeile phrase ligne"
)
_REPEAT_NAMES = ("trial", "round", "session", "attempt", "visit", "wave", "repetition", "repeat")
_RATING_ID_STEMS = _split_words("annotation rating response assignment session completion")
# Words that tell an item or a rater wherever they stand in a name.
_TELLING_WORDS = _split_words(
    "creator participant annotator coder rater reviewer worker reader stimulus"
)
_RESPONDENT_NAMES = _split_words(
    "responseid email emailaddress name respondentid participantid prolificid prolificpid "
    "recipientemail subjectid user id token"
)
ITEM_ID_PATTERN = re.compile(r"[\w]+_id")
# Words behind the name of an item or a rater that change nothing: case_number, Reviewer Name.
_ENDINGS = _split_words("id ids email mail initials no nr num number name code key")
_SUFFIX_RANK = 1000  # names with one of these words are less reliable than those listed above
_NUMBERED_PATTERNS = (
    re.compile(r"(.*[^\W\d_])[\s_.#-]*(\d{1,3})"),  # rater_1, R1, label 2
    re.compile(r"(.*\w)[\s_.-]+([^\W\d_])"),  # rater_a, Gutachter A
    re.compile(r"(.*[a-z])([A-Z])"),  # RaterA
)


def validate_column_names(cells: Sequence[str], line: int) -> list[str]:
    """Return the stripped column names; raise UnreadableFileError if one is empty or used twice."""
    names = [cell.strip() for cell in cells]
    positions: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if not name:
            raise UnreadableFileError("name_empty", line=line, place=position)
        first_position = positions.setdefault(name, position)
        if first_position != position:
            raise UnreadableFileError(
                "duplicate_column_name",
                line=line,
                name=truncate_text(name),
                first=first_position,
                second=position,
            )
    return names


@functools.lru_cache(maxsize=10_000)  # also called with the rater of each row
def normalize_name(name: str) -> str:
    """Return a column name in lower case with underscores between its words."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", words.casefold()).strip("_")


def compact_name(name: str) -> str:
    """Return a column name in lower case without separators."""
    return normalize_name(name).replace("_", "")


def rank_name(name: str, role: str) -> int | None:
    """Return how reliably a column name suggests the role, 0 for best; None if it does not."""
    rank = _RANKS[role].get(compact_name(name))
    if rank is not None or role not in ("item", "rater"):
        return rank
    words = normalize_name(name).split("_")
    if role == "rater" and words[-1].endswith(("ologist", "ologe", "ologin", "ologue")):
        return _SUFFIX_RANK
    if len(words) > 1 and words[-1] in _ENDINGS:
        rank = _RANKS[role].get("".join(words[:-1]))
    if rank is None and len(words) > 1:
        # `Excerpt Creator`, `participant private id`: the last word, or the first before an ID.
        is_id = words[-1] in ("id", "ids")
        telling = [word for word in (words[:-1] if is_id else words[-1:]) if word in _TELLING_WORDS]
        rank = _RANKS[role].get(telling[0]) if telling else None
    return None if rank is None else rank + _SUFFIX_RANK


def is_survey_name(name: str) -> bool:
    """Return whether only responses to a survey have a column of this name: Completion time."""
    return compact_name(_remove_survey_code(name)) in _SURVEY_NAMES


def is_agreement_result_name(name: str) -> bool:
    """Return whether a column of this name has agreement that was computed: Kappa."""
    return compact_name(name) in _RESULT_NAMES


def is_index_name(name: str) -> bool:
    """Return whether a column has the row names of a data frame: (column 1), Unnamed: 0."""
    return name.startswith("(") or compact_name(name) == "unnamed0"


def is_frequency_name(name: str) -> bool:
    """Return whether a column of this name says how often a row occurs: Freq, count."""
    return compact_name(name) in _FREQUENCY_NAMES


def is_role_name(name: str) -> bool:
    """Return whether a name suggests a column of items, raters or labels."""
    number = split_numbered_name(name)
    return bool(number and number[0] in RATER_STEMS) or any(
        rank_name(name, role) is not None for role in ("item", "rater", "label")
    )


def is_content_part_name(name: str) -> bool:
    """Return whether a name suggests content that raters see."""
    return compact_name(name) in _CONTENT_PARTS


def is_answer_name(name: str) -> bool:
    """Return whether a column of this name has answers, of whomever: human_label, votes."""
    return not _ANSWER_WORDS.isdisjoint(normalize_name(name).split("_"))


def is_criterion_name(name: str) -> bool:
    """Return whether a column of this name is a question of its own: fluency, severe_toxic."""
    return not _CRITERIA.isdisjoint(normalize_name(name).split("_"))


def is_comparison_name(name: str) -> bool:
    """Return whether a column of a wide table compares the raters: Match, Same?, Diff."""
    return compact_name(name) in _COMPARISON_NAMES


def is_score_name(name: str) -> bool:
    """Return whether a name may be that of a rater's score, although others compute scores."""
    normalized = normalize_name(name)
    return normalized.endswith(("_score", "_scores")) and _DERIVED_WORDS.isdisjoint(
        normalized.split("_")
    )


def is_author_name(name: str) -> bool:
    """Return whether a column of this name has raters, or whoever wrote the item: author."""
    return compact_name(name) in ("author", "creator", "createdby")


def is_subject_name(name: str) -> bool:
    """Return whether a column of this name has raters, or people who are rated: participant."""
    stem = compact_name(name).removesuffix("id")
    return is_author_name(name) or stem in ("user", "username", "participant", "respondent")


def is_derived_name(name: str) -> bool:
    """Return whether a column of this name was computed: majority, final_label, MACE_pred."""
    normalized = normalize_name(name)
    return (
        not _DERIVED_WORDS.isdisjoint(normalized.split("_"))
        or normalized.endswith(_DERIVED_ENDINGS)
        or normalized.startswith(_DERIVED_STARTS)
    )


def is_background_name(name: str) -> bool:
    """Return whether a column of this name describes items, raters or the survey: sex, Progress."""
    normalized = normalize_name(_remove_survey_code(name))
    return (
        normalized.replace("_", "") in _DESCRIPTIVE_NAMES
        or not _DESCRIPTIVE_WORDS.isdisjoint(normalized.split("_"))
        or normalized.endswith(_DESCRIPTIVE_ENDINGS)
        or normalized.startswith(_DESCRIPTIVE_STARTS)
    )


def is_key_part_name(name: str) -> bool:
    """Return whether a column of this name numbers the parts of an item: turn, sentence no."""
    words = [word for word in normalize_name(name).split("_") if word not in _ENDINGS]
    return len(words) < 2 and (not words or words[0].removesuffix("s") in _KEY_PARTS)


def is_counting_name(name: str) -> bool:
    """Return whether numbers in a column of this name count parts or repeats: turn, trial."""
    return is_key_part_name(name) or compact_name(name) in _REPEAT_NAMES


def is_rating_id_name(name: str) -> bool:
    """Return whether a name is the ID of a rating or a rater, not of an item: annotation_id."""
    stem = normalize_name(name).removesuffix("_id").replace("_", "")
    return stem in _RATING_ID_STEMS or stem in _RANKS["rater"]


def is_aggregate_rater_name(name: str) -> bool:
    """Return whether the name of a rater stands for the result of several: Consensus."""
    return compact_name(name) in _MERGED_RATERS


def is_respondent_name(name: str) -> bool:
    """Return whether a column of a survey identifies who filled it in: ResponseId, email."""
    return compact_name(_remove_survey_code(name)) in _RESPONDENT_NAMES


def _remove_survey_code(name: str) -> str:
    """Return the name without the code that LimeSurvey writes before it: id. Response ID."""
    code, separator, text = name.partition(". ")
    return text if separator and code.isalnum() else name


def split_numbered_name(name: str) -> tuple[str, str] | None:
    """Return (compact beginning, number or letter) of a numbered name such as rater_1, or None."""
    for pattern in _NUMBERED_PATTERNS:
        if match := pattern.fullmatch(name.strip()):
            return compact_name(match[1]), match[2].casefold()
    return None


def are_rater_numbers(parts: Collection[str]) -> bool:
    """Return whether parts of column names number raters, as R1 and R2, or rater_a and rater_b."""
    numbered = [split_numbered_name(part) for part in parts]
    stems = {number[0] for number in numbered if number}
    return len(parts) >= 2 and all(numbered) and len(stems) == 1 and stems <= RATER_STEMS


def _rank_names(names: Iterable[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for rank, name in enumerate(names):
        ranks.setdefault(compact_name(name), rank)
    return ranks


_RANKS = {role: _rank_names(names.split()) for role, names in NAMES_BY_ROLE.items()}
_CONTENT_PARTS = {compact_name(name) for name in CONTENT_PART_NAMES.split()}
