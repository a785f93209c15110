-- Pass 2: what is derived from rows of all ranks. In the portable subset only (test/check/portable_sql).
DELETE FROM run WHERE key = 'ranks_seen';
INSERT INTO run SELECT 'ranks_seen', count(DISTINCT coalesce(rank, -1 - rank_id)) FROM rank;
