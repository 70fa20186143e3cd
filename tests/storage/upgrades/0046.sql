update identity set clock_ahead_ms = 86400000;
