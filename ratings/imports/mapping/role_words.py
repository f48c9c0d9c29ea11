"""Words in column names that suggest what the cells are: raters, labels, comments and others."""

from __future__ import annotations


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Role -> column names that suggest it, the most reliable first.
NAMES_BY_ROLE = {
    "item": (
        "item item_id item_key id key task task_id document document_id doc doc_id text_id unit "
        "unit_id example example_id segment segment_id subject_id patient_id case_id tweet_id "
        "post_id comment_id sentence_id image_id photo_id video_id clip_id article_id review_id "
        "record_id sample_id object_id lesion_id topic_id query_id question_id slide_id scan_id "
        "passage_id paper_id essay_id abstract_id fall_id subject patient case fall patientin "
        "proband sujet cas caso texto texte item_no номер пример объект текст_id 条目 样本 编号 "
        "序号 样本编号 "
        "番号 項目 번호 항목 الرقم النص رقم specimen slide scan stimulus trial paper essay wine "
        "lesion topic image photo object record sample units file filename statement aussage mrn "
        "stim stimfile stimulusfile imagefile imagename soundfile "
        "covidence datensatz"
    ),
    "rater": (
        "rater rater_id annotator annotator_id worker worker_id user user_id username user_name "
        "coder coder_id judge judge_id reader reader_id observer observer_id labeler labeller "
        "labeler_id labeller_id labelled_by labeled_by annotated_by rated_by coded_by reviewed_by "
        "reviewer reviewer_id evaluator evaluator_id assessor assessor_id grader grader_id "
        "examiner marker scorer physician radiologist pathologist clinician doctor expert "
        "prolific_pid prolific_id expert_id participant participant_id respondent respondent_id "
        "author completed_by moderator moderator_id screener auditor curator tagger inspector "
        "medical_student resident radiographer attending interviewer transcriber rated_by_id "
        "scored_by marked_by checked_by "
        "surgeon nurse dentist therapist technician sonographer anaesthetist anesthetist operator "
        "creator created_by createdby gutachter gutachterin untersucher bewerter beurteiler "
        "bearbeiter bearbeiterin kodierer kodiererin annotatorin beurteilerin bewerterin prufer "
        "prüfer juror annotateur annotatrice codeur codeuse evaluateur correcteur juge evaluador "
        "evaluadora anotador anotadora codificador codificadora juez "
        "lehrkraft lehrer lehrerin beobachter beobachterin judge_model evaluator_model "
        "grader_model arzt ärztin médecin experte expertin correctrice evaluatrice médico "
        "avaliador "
        "avaliadora revisor revisora especialista perito juiz аннотатор разметчик эксперт "
        "оценщик асессор рецензент кодировщик судья врач 标注员 标注者 标注人 评分员 评审 评审员 "
        "评委 专家 审核员 医生 "
        "標註員 評審員 評分者 評価者 評定者 査読者 作業者 アノテーター 평가자 평가위원 주석자 "
        "검토자 "
        "مقيم المقيم محكم المحكم المصنف مصنف"
    ),
    "label": (
        "label labels rating category code answer score value annotation judgement judgment "
        "severity class choice response verdict grade urteil bewertung einstufung kategorie "
        "jugement "
        "étiquette catégorie note_globale etiqueta categoria categoría rótulo avaliação оценка "
        "метка "
        "класс 标签 标注 类别 评分 等级 標籤 ラベル 評価 評定 判定 라벨 평가 التصنيف التقييم"
    ),
    "rated_at": (
        "rated_at timestamp tstamp time date datetime created created_at submitted submitted_at "
        "submit_time submitdate date_submitted completion_time completed_at updated_at ts datum "
        "zeitpunkt zeitstempel zeit uhrzeit horodateur horodatage fecha marca_temporal data_hora "
        "дата время 时间 日期 时间戳 时间戳记 標註時間 日時 タイムスタンプ 날짜"
    ),
    "comment": (
        "comment comments note notes remark remarks rationale explanation reason reasoning "
        "bemerkung bemerkungen kommentar anmerkung anmerkungen begründung commentaire commentaires "
        "remarque remarques observaciones comentario comentarios observações comentário "
        "комментарий комментарии примечание 备注 备考 说明 意见 理由 備考 コメント 비고 ملاحظات"
    ),
    "question": "question question_key criterion criteria dimension",
    "seconds": (
        "seconds lead_time duration time_spent seconds_spent time time_spent_in_seconds "
        "time_spent_seconds duration_seconds duration_in_seconds duration_s worktimeinseconds "
        "work_time_in_seconds elapsed_time elapsed_seconds time_taken annotation_time "
        "seconds_to_label time_spent_in_secs"
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
        "document_text input prompt текст 文本 内容 句子 文 テキスト 텍스트"
    ),
    "html": "html",
    "image": "image image_url picture picture_url photo img",
    "audio": "audio audio_url sound sound_url recording",
    "video": "video video_url film film_url",
}
# Column names that suggest content, shown to raters under the column's name.
CONTENT_PART_NAMES = (
    "source target translation abstract reference hypothesis premise instruction question prompt "
    "context title response response1 response2 response_1 response_2 response_a response_b "
    "answer_a answer_b output_a output_b completion output summary "
    "user_input actual_output expected_output model_output model_response generation candidate "
    "contexts retrieved_contexts conversation dialogue"
)
# Names of objects that hold the content of an item in nested records: data.text.
CONTENT_CONTAINERS = _split_words(
    "data content item input inputs document task example sample fields"
)
# Words in the name of a column that was computed from the ratings, or by a program.
DERIVED_WORDS = _split_words(
    "majority consensus adjudicated adjudication adjudicator resolved reconciled final aggregated "
    "aggregate combined mace dawid glad mean avg average median mode total sum std sd variance "
    "var_coef entropy agreement agree disagreement kappa alpha prob probs probability "
    "probabilities confidence conf prediction predicted pred predictions softmax logit logits "
    "agreed resolution agg tiebreaker tiebreak mehrheit konsens mittelwert summe moyenne mayoria "
    "多数 平均"
)
ANSWER_WORDS = _split_words(
    "label labels rating ratings annotation annotations annotator annotators vote votes judgment "
    "judgments judgement judgements responses coder coders rater raters verdict"
)
# Names of lists in a record that have a result of each grader.
GRADER_LISTS = ANSWER_WORDS | _split_words(
    "results scores grades graders grading evaluations evals checks assertions judges reviews"
)
# Names of columns that compare the raters of a row.
COMPARISON_NAMES = _split_words(
    "match matches matched same identical equal diff difference delta discrepancy "
    "discrepant conflict conflicts concordant concordance discordant disagree "
    "gleich unterschied differenz abweichung übereinstimmung accord écart coincide diferencia "
    "一致 差异"
)
# Names of columns on the scale of the raters that seldom have ratings, unless no other column has.
DIFFICULTY_NAMES = _split_words(
    "difficulty difficult difficultylevel hardness easiness ease ambiguity certainty sureness "
    "confidencelevel familiarity importance priority frequency length level schwierigkeit "
    "sicherheit difficulte difficulté dificultad 难度"
)
DERIVED_ENDINGS = ("_score", "_scores", "_prob", "_mean", "_avg", "_count", "_total", "_sum")
DERIVED_STARTS = ("n_", "num_", "count_", "nb_", "p_")
# Names of columns that describe an item, a rater or the way in which the data were collected.
DESCRIPTIVE_NAMES = _split_words(
    "sex gender age agegroup birthyear education degree race ethnicity nationality country region "
    "city state language lang userlanguage religion occupation income handedness startdate enddate "
    "recordeddate starttime endtime status progress finished duration durationinseconds ipaddress "
    "ip responseid sessionid session recipientlastname recipientfirstname recipientemail "
    "externalreference locationlatitude locationlongitude latitude longitude distributionchannel "
    "channel version batch split fold set group arm condition treatment site center centre clinic "
    "hospital source domain platform device browser year month week day date time timestamp order "
    "words wordcount nwords chars tokens likes retweets upvotes downvotes views followers "
    "round wave phase session trial block essayset roundno "
    "position index rownumber row line complete email name firstname lastname surname weight "
    "height geschlecht alter land sexe pais edad 性别 年龄 seed token lastpage refurl "
    "startlanguage collectorid customdata1 networkid reactiontime rt projectid projectname "
    "responsetype startdateutc submitdateutc resps filteredresps arguments "
    "serial ref questnnr mode started missing missrel maxpage timesum"
)
DESCRIPTIVE_ENDINGS = (
    "_complete", "_timestamp", "_date", "_time", "_url", "_order", "_batch", "_time_s", "_time_ms",
    "_rt", "_this_n", "_this_rep_n", "_this_trial_n", "_this_index",
    "_seconds", "_sec", "_secs", "_duration",
)  # fmt: skip
DESCRIPTIVE_STARTS = ("redcap_", "batch_", "hit_", "assignment_", "time0")
DESCRIPTIVE_WORDS = _split_words("sex gender age ethnicity race")
# Columns that only the responses to a survey have.
SURVEY_NAMES = _split_words(
    "submitdate submitdateutc networkid datesubmitted lastpage startlanguage collectorid "
    "completiontime submittedat submissiondate "
    "respondentid responseid questnnr startedtime zeitstempel horodateur marcatemporal 时间戳记 "
    "时间戳"
)
# Columns of results: agreement that another program computed.
RESULT_NAMES = _split_words(
    "kappa cohenskappa cohenkappa fleisskappa krippendorffsalpha krippendorffalpha icc "
    "agreementpercent percentagreement agreements disagreements"
)
# Names of objects in records that have numbers of ratings: label_counter.positive.
COUNTERS = _split_words("counter counts count tally histogram distribution votecounts")
# Columns of numbers of rows: a table of combinations and how often each occurs.
FREQUENCY_NAMES = _split_words(
    "freq frequency frequencies count counts n weight wt num number haufigkeit anzahl effectif "
    "frecuencia 频数 数量"
)
# Beginnings of names that are numbered where the columns are raters: rater_1, R1, RaterA, label1.
RATER_STEMS = _split_words(
    "r raters a ann anno annot annotation c code coding j judge judgement judgment obs o review "
    "rev exp e w label labels grade assessment eval evaluation rating ratings score person u dr md "
    "radiologist rad turker crowdworker crowd vote voter answer human humanrater llm model system "
    "student teacher tester expertrater humanannotator urteil bewertung jugement avaliacao"
) | (
    {name.replace("_", "") for name in NAMES_BY_ROLE["rater"].split()}
    - {"author", "creator", "createdby", "completedby"}
)
# Words before the name of a rater whose label a column has: label_reviewer.
LABEL_STARTS = _split_words("label labels rating score vote grade decision")
# Those that number answers, which may be of one person.
LABEL_STEMS = _split_words(
    "label labels code coding score rating ratings grade evaluation eval assessment judgement "
    "judgment annotation annot anno ann vote answer response urteil bewertung jugement avaliacao"
)
# Beginnings of numbered names that are questions, items or classes instead.
OTHER_STEMS = _split_words(
    "q question item frage photo image picture cat category class kategorie klasse x v var feature "
    "f dim criterion aspect option choice topic prob p pc factor component column field text "
    "sentence response passage video clip recording stimulus document"
)
# Words of names of columns that are criteria, emotions or classes, each a question, and no raters.
CRITERIA = _split_words(
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
    "sarcasm irony humor humour spam abuse abusive profanity violence sexual racism sexism "
    "relevancy precision recall correct"
)
# Names in a column of raters that stand for no person: the result of several raters.
MERGED_RATERS = _split_words(
    "consensus majority majorityvote majoritylabel adjudicated aggregated aggregate merged "
    "finallabel konsens mehrheit consenso 共识 多数"
)
# Names that number the parts of a document, conversation or patient.
KEY_PARTS = _split_words(
    "sentence sent segment seg slice tile patch vertebra turn line paragraph para utterance frame "
    "page chunk token span clip "
    "position index row number nr no lesion tooth eye side slide image question response answer "
    "quotation excerpt satz absatz zeile phrase ligne"
)
REPEAT_NAMES = ("trial", "round", "session", "attempt", "visit", "wave", "repetition", "repeat")
# Names of columns that name models: the raters, or the authors of the content that is rated.
MODEL_COLUMNS = _split_words(
    "model modelname modelid llm llmname llmmodel system systemname judgemodel judgellm "
    "evaluatormodel gradermodel"
)
# Beginnings of the names of language models.
MODEL_STARTS = ("gpt", "chatgpt", "claude", "gemini", "llama", "mistral", "mixtral", "qwen",
                "deepseek", "o1", "o3", "command_r")  # fmt: skip
# Words of a column that says which of several systems an answer prefers.
PREFERENCE_WORDS = _split_words("winner preference preferred chosen best worst")
RATING_ID_STEMS = _split_words("annotation rating response assignment session completion")
# Words that tell an item or a rater wherever they stand in a name.
TELLING_WORDS = _split_words(
    "creator participant annotator coder rater reviewer worker reader stimulus"
)
# The person who filled in a form, as Google Forms and Microsoft Forms name the column.
FORM_PERSON_NAMES = _split_words(
    "email emailaddress name username yourname emailadresse nutzername adresseemail "
    "nomdutilisateur direccióndecorreoelectrónico nombredeusuario 电子邮件地址 用户名"
)
RESPONDENT_NAMES = FORM_PERSON_NAMES | _split_words(
    "responseid submissionid respondentid participantid prolificid prolificpid recipientemail "
    "subjectid user id token"
)
COMMENT_WORDS = _split_words(
    "comment comments remarks feedback kommentar kommentare anmerkung anmerkungen commentaire "
    "commentaires comentario comentarios 评论 备注 意见"
)
# Words for what stands beside a label: a comment, or the time that it took.
BESIDE_WORDS = COMMENT_WORDS - {"意见"} | _split_words(
    "note notes remark rationale explanation justification bemerkung bemerkungen seconds secs "
    "duration timestamp"
)
# Words behind the name of an item or a rater that change nothing: case_number, Reviewer Name.
ENDINGS = _split_words("id ids email mail initials no nr num number name code key")
