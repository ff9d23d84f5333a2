"""Notes for pictures of note content: all Obsidian syntax, Chinese, long text."""

from __future__ import annotations

_WEEKS = "\n\n".join(
    f"## Week {week}\n\nRow {week} gets {week + 2} litres of water. The seedlings stand {week} cm apart, and what "
    f"bolts goes on the compost. See [[Compost#Layers]]."
    for week in range(1, 31)
)

GARDEN = {
    "Garden/Beds.md": """---
title: Raised beds
aliases:
  - Beds
tags: [garden, howto]
created: 2026-02-14
area: 3.6
---
# Raised beds

A raised bed warms up **two weeks** earlier, drains well and saves the back. ==Plan the trellis first==, since it \
shades what stands behind it. ~~Treated wood~~ is not for vegetables. #garden

> [!warning]- Before you dig
> Ask where the `water main` is. See [[Compost#Layers|what goes into the compost]] and \
[the planner](https://example.org/plan/raised-beds?year=2026).
> > A neighbour's cable was cut once.

## Trellis

1. Two posts of 40 mm, set 60 cm deep
2. A wire each 25 cm
   - [x] galvanised wire
   - [ ] tensioners
   - [>] screws, from last year

| Plant | Distance | Height of the trellis |
| --- | ---: | --- |
| Peas | 5 cm | 1.2 m |
| Climbing beans | 20 cm | 2.4 m, as they go on growing until September |
| 黄瓜 | 40 cm | 1.8 m |

![[Attachments/trellis plan.png|300]]
![[Compost#Layers]]
![The finished trellis](https://example.org/images/2026/02/finished-trellis-with-peas.jpg)

```python
def wires(height: float, gap: float = 0.25) -> int:
    \"\"\"How many wires a trellis needs.\"\"\"
    return int(height / gap)  # the lowest is a gap above the ground
```

$$n = \\lfloor h / g \\rfloor$$

Peas climb by tendrils[^1], beans by twining. %%ask Grandma%% ^tendrils

[^1]: Which hold wires thinner than a pencil.
""",
    "Garden/Calendar.md": (
        f"# Calendar\n\nWhat to do in the garden, week by week. The trellis comes first.\n\n{_WEEKS}\n"
    ),
    "Garden/Compost.md": "# Compost\n\n## Layers\n\nBrown and green in turns, each as thick as a hand.\n",
    "日记/二月.md": """---
tags: [日记, 花园]
---
# 二月 🌱

## 菜园

今天在菜园里搭了豆角架,**先立柱子**再拉铁丝。参见 [[Garden/Beds|高架菜床]]。👩‍🌾 帮了忙,下周播种豌豆。

- [ ] 买种子
- [x] 翻土

## 备忘

菜园的水管冬天要关。
""",
    "日记/三月.md": """# 三月

豆角发芽了。菜园需要每天浇水,豆角架旁边再种黄瓜。

ﾊﾝｶｸ と 全角,é と é 的宽度都要对。菜园
""",
    "יומן/סנכרון.md": """# סנכרון בין מכשירים

כאשר שני מכשירים משנים אותה רשימה (note) לפני סנכרון, הגרסה החדשה נשמרת. ראו [[Merging|איחוד]] ו־`backup.log`.
""",
    "يوميات/مزامنة.md": "# مزامنة\n\nتُحفظ النسخة الأحدث بعد סנכרון (backup)، والأقدم بجانبها.\n",
}
"""Notes found by `trellis`, `garden`, `菜园` and `סנכרון`, and by no query of other pictures."""
