"""Known scales in Portuguese, Italian, Dutch, Polish, Turkish, Russian, Japanese, Korean, Arabic.

Written as those of `ordered_scales`: "|" separates the steps, "/" the phrases of a step, a blank
line the scales.
"""

FURTHER_SCALES = """
nunca/jamais|quase nunca/muito raramente|raramente/poucas vezes|ocasionalmente/de vez em quando|
às vezes/algumas vezes|regularmente|frequentemente/muitas vezes/com frequência|
muito frequentemente|quase sempre/na maioria das vezes|sempre

nenhum/nenhuma/ausente|mínimo/mínima|leve/ligeiro/ligeira|moderado/moderada/médio/média|
grave/severo/severa|muito grave/crítico/crítica

péssimo/péssima|muito ruim/muito mau/muito má|ruim/mau/má|regular/razoável/médio/média/aceitável|
bom/boa|muito bom/muito boa|ótimo/ótima/excelente

muito baixo/muito baixa|baixo/baixa|médio/média|alto/alta|muito alto/muito alta

muito negativo/muito negativa|negativo/negativa|neutro/neutra|positivo/positiva|
muito positivo/muito positiva

discordo totalmente/discordo completamente/discordo fortemente|discordo muito|discordo|
discordo parcialmente/discordo um pouco|neutro/nem concordo nem discordo/
não concordo nem discordo/indiferente/indeciso|concordo parcialmente/concordo um pouco|concordo|
concordo muito|concordo totalmente/concordo completamente/concordo fortemente

muito insatisfeito/muito insatisfeita|insatisfeito/insatisfeita|
neutro/neutra/nem satisfeito nem insatisfeito|satisfeito/satisfeita|
muito satisfeito/muito satisfeita

não|provavelmente não|talvez/em parte/parcialmente|provavelmente sim|sim

mai|quasi mai/molto raramente|raramente/di rado|occasionalmente|a volte/qualche volta/talvolta|
regolarmente|spesso|molto spesso|quasi sempre|sempre

nessuno/nessuna/assente|minimo/minima|lieve/leggero/leggera|moderato/moderata/medio/media|
grave/severo/severa|molto grave/critico/critica

pessimo/pessima|molto scarso|scarso/cattivo/insufficiente|mediocre|sufficiente/discreto|
buono/buona/bene|molto buono|ottimo/ottima/eccellente

molto basso/molto bassa|basso/bassa|medio/media|alto/alta|molto alto/molto alta

negativo/negativa|neutro/neutra/neutrale|positivo/positiva

per niente/per nulla|poco|abbastanza|molto|moltissimo

fortemente in disaccordo/completamente in disaccordo/totalmente in disaccordo|in disaccordo|
né d'accordo né in disaccordo/neutrale/indifferente|d'accordo|
molto d'accordo/completamente d'accordo/totalmente d'accordo/fortemente d'accordo

no|forse/in parte|sì

nooit|bijna nooit|zelden|af en toe|soms|regelmatig|vaak|heel vaak|bijna altijd|altijd

geen|minimaal|licht|matig|ernstig|zeer ernstig/kritiek

zeer slecht/heel slecht|slecht|matig|voldoende|goed|zeer goed/heel goed|uitstekend

helemaal mee oneens/zeer mee oneens|oneens/mee oneens|neutraal/niet mee eens niet mee oneens|
eens/mee eens|helemaal mee eens/zeer mee eens

zeer laag|laag|gemiddeld|hoog|zeer hoog

nee|misschien|ja

nigdy|prawie nigdy|rzadko|czasami/czasem|często|bardzo często|prawie zawsze|zawsze

brak/żaden|łagodny/lekki/łagodna/lekka|umiarkowany/średni/umiarkowana/średnia|
ciężki/silny/ciężka/silna

bardzo źle/bardzo zły|źle/zły|średnio/przeciętny|dobrze/dobry|bardzo dobrze/bardzo dobry

zdecydowanie się nie zgadzam|nie zgadzam się|raczej się nie zgadzam|
ani tak ani nie/nie mam zdania|raczej się zgadzam|zgadzam się|zdecydowanie się zgadzam

nie|raczej nie|trudno powiedzieć|raczej tak|tak

hiçbir zaman/asla|nadiren|bazen/ara sıra|sık sık/genellikle|her zaman

kesinlikle katılmıyorum|katılmıyorum|kararsızım|katılıyorum|kesinlikle katılıyorum

çok kötü|kötü|orta/normal|iyi|çok iyi

hayır|belki|evet

никогда|почти никогда|редко|иногда|часто|очень часто|почти всегда|всегда

очень плохо|плохо/неудовлетворительно|удовлетворительно/средне/нормально|хорошо|очень хорошо|
отлично

ужасно|плохо|нормально|хорошо|отлично

отсутствует/нет|минимальная/минимальный|лёгкая/легкая/лёгкий/легкий/слабая/слабый|
умеренная/умеренный/средняя/средний|тяжёлая/тяжелая/тяжёлый/тяжелый/сильная/сильный|
критическая/критический

низкий/низкая/низкое|средний/средняя/среднее|высокий/высокая/высокое

негативный/негативная/отрицательный/отрицательная/негатив|
нейтральный/нейтральная/нейтрально|позитивный/позитивная/положительный/положительная/позитив

полностью не согласен/совершенно не согласен/абсолютно не согласен|не согласен/несогласен|
скорее не согласен|нейтрально/затрудняюсь ответить/ни да ни нет|скорее согласен|согласен|
полностью согласен/совершенно согласен/абсолютно согласен

нет|скорее нет|возможно/частично|скорее да|да

全くない/まったくない/決してない|ほとんどない|たまに/まれに|ときどき/時々|よく/しばしば|
ほとんどいつも|いつも/常に

とても悪い/非常に悪い|悪い|やや悪い|普通/ふつう/どちらともいえない|やや良い|良い|
とても良い/非常に良い

まったくそう思わない/全くそう思わない|そう思わない|あまりそう思わない/ややそう思わない|
どちらともいえない/どちらでもない/普通|ややそう思う|そう思う|とてもそう思う/強くそう思う

まったく当てはまらない/全く当てはまらない|当てはまらない|あまり当てはまらない|どちらともいえない|
やや当てはまる|当てはまる|とても当てはまる/非常に当てはまる

非常に不満/とても不満|不満|やや不満|普通/どちらともいえない|やや満足|満足|非常に満足/とても満足

なし/無し|軽度|中等度|重度

低い/低|中程度/中/普通|高い/高

ネガティブ/否定的|中立/ニュートラル|ポジティブ/肯定的

いいえ|どちらともいえない/一部|はい

전혀 아님|거의 아님/드물게|가끔/때때로|자주|항상

매우 나쁨/아주 나쁨|나쁨|보통|좋음|매우 좋음/아주 좋음

전혀 동의하지 않음/매우 동의하지 않음|동의하지 않음|보통/중립|동의함/동의|매우 동의함/매우 동의

매우 불만족|불만족|보통|만족|매우 만족

없음|경도|중등도|중증

낮음|중간/보통|높음

부정/부정적|중립|긍정/긍정적

아니오/아니요|모르겠음/부분적|예/네

أبدا|نادرا|أحيانا|غالبا|دائما

سيئ جدا/سيء جدا|سيئ/سيء/ضعيف|متوسط/مقبول|جيد|جيد جدا|ممتاز

لا أوافق بشدة|لا أوافق|محايد|أوافق|أوافق بشدة

غير موافق بشدة|غير موافق|محايد|موافق|موافق بشدة

لا يوجد|خفيف|متوسط|شديد

منخفض|متوسط|مرتفع/عالي

سلبي|محايد|إيجابي

لا|ربما|نعم
"""
