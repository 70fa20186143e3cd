select count_days('{bok_1}', '{20407}', '{1}', '{1}');
