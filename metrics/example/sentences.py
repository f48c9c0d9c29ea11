"""Sentences with translations into three languages, and ways to insert errors of three severities.

Written for this project. All nouns are feminine in the three languages, so that articles and
endings agree.
"""

from __future__ import annotations

import numpy as np

NOUNS = {
    "en": ("lamp", "bag", "battery", "machine", "invoice"),
    "de": ("Lampe", "Tasche", "Batterie", "Maschine", "Rechnung"),
    "es": ("lámpara", "bolsa", "batería", "máquina", "factura"),
    "fr": ("lampe", "sacoche", "batterie", "machine", "facture"),
}
FRAMES = (
    {
        "en": "The {noun} arrived after {number} days.",
        "de": "Die {noun} kam nach {number} Tagen an.",
        "es": "La {noun} llegó después de {number} días.",
        "fr": "La {noun} est arrivée au bout de {number} jours.",
    },
    {
        "en": "Do not leave the {noun} outside for more than {number} hours.",
        "de": "Lassen Sie die {noun} nicht länger als {number} Stunden draußen.",
        "es": "No deje la {noun} fuera durante más de {number} horas.",
        "fr": "Ne laissez pas la {noun} dehors plus de {number} heures.",
    },
    {
        "en": "We have not received the {noun}; please send it within {number} days.",
        "de": "Wir haben die {noun} nicht erhalten; bitte senden Sie sie innerhalb von {number} Tagen.",
        "es": "No hemos recibido la {noun}; envíela en un plazo de {number} días.",
        "fr": "Nous n'avons pas reçu la {noun} ; veuillez l'envoyer sous {number} jours.",
    },
    {
        "en": "The new {noun} costs {number} euros more than the old one.",
        "de": "Die neue {noun} kostet {number} Euro mehr als die alte.",
        "es": "La nueva {noun} cuesta {number} euros más que la antigua.",
        "fr": "La nouvelle {noun} coûte {number} euros de plus que l'ancienne.",
    },
)


def build_sentence_pair(rng: np.random.Generator, language: str, severity: int) -> tuple[str, str]:
    """Return an English sentence and its translation with an error of the given severity.

    Severity 0: none, 1: minor, 2: major, 3: critical.
    """
    frame = FRAMES[rng.integers(len(FRAMES))]
    noun = int(rng.integers(len(NOUNS["en"])))
    number = int(rng.integers(2, 40))
    source = frame["en"].format(noun=NOUNS["en"][noun], number=number)
    if severity == 2:  # another noun
        noun = (noun + 1) % len(NOUNS["en"])
    if severity == 3:  # a wrong number
        number *= 10
    word = NOUNS[language][noun]
    if severity == 1:  # a typing error
        word = word[:-2] + word[-1] + word[-2]
    return source, frame[language].format(noun=word, number=number)
