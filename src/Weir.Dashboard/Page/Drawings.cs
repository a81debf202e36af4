using System.Globalization;
using Weir.Observability;

namespace Weir.Dashboard.Page;

/// <summary>The pictures of the page, as SVG. Each says in words what it shows, for those who do not see it.</summary>
internal static class Drawings
{
    private const int NodeWidth = 176;
    private const int NodeHeight = 62;
    private const int ColumnGap = 56;
    private const int RowGap = 18;

    /// <summary>
    /// What an entry did over time: its rate, the permits of it in use, or what waits. Its limit is a dashed line, above that of a rate; permits are drawn on
    /// the scale of the limit.
    /// </summary>
    /// <param name="page">The page.</param>
    /// <param name="kind">The kind of the entry, which says what is drawn.</param>
    /// <param name="points">What is known of the past.</param>
    /// <param name="isLarge">Whether it is the picture of a page, with its words below it.</param>
    public static Markup.Written Sparkline(Markup page, LiveKind kind, IReadOnlyList<LivePoint> points, bool isLarge = false)
    {
        (string what, Func<LivePoint, double?> value) = kind switch
        {
            LiveKind.Limit => ("In use", static point => point.InFlight),
            LiveKind.Queue => ("Backlog", static point => point.Waiting),
            LiveKind.RateLimit => ("Waiting", static point => point.Waiting),
            _ => ("Rate a second", (Func<LivePoint, double?>)(static point => point.Rate)),
        };

        // The first look at something knows no rate yet, which is not 0.
        int unknown = 0;
        while (unknown < points.Count && value(points[unknown]) is null)
        {
            unknown++;
        }

        if (points.Count - unknown < 2)
        {
            return page.Add($"<span class=\"soft\">no history yet</span>");
        }

        if (unknown > 0)
        {
            points = points is LivePoint[] all ? new ArraySegment<LivePoint>(all)[unknown..] : [.. points.Skip(unknown)];
        }

        (int width, int height) = isLarge ? (640, 120) : (140, 30);
        double most = points.Max(point => value(point) ?? 0);
        double mostLimit = kind == LiveKind.Queue ? 0 : points.Max(static point => point.Limit ?? 0);
        page.Add($"<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\"><title>{Says()}</title>");
        if (mostLimit > 0)
        {
            page.Add($"<polyline class=\"limit\" points=\"{Line(page, points, static point => point.Limit ?? 0, mostLimit, width, height)}\"/>");
        }

        double scale = kind == LiveKind.Limit ? Math.Max(most, mostLimit) : mostLimit > 0 ? 1.2 * most : most;
        page.Add($"<polyline class=\"rate\" points=\"{Line(page, points, point => value(point) ?? 0, scale, width, height)}\"/></svg>");
        return isLarge ? page.Add($"<span class=\"soft\">{Says()}</span>") : default;

        string Says() => $"{what} over {Words.Span(points[^1].Time - points[0].Time)}: now {Words.Number(value(points[^1]) ?? 0)}, at most {Words.Number(most)}"
            + (mostLimit > 0 ? $"; limit now {Words.Number(points[^1].Limit ?? 0)}, at most {Words.Number(mostLimit)}" : "");
    }

    /// <summary>The states of a circuit breaker over time, up to now.</summary>
    public static Markup.Written States(Markup page, LiveEntry breaker, DateTimeOffset now, IReadOnlyList<LivePoint> past, bool isLarge = false)
    {
        // A point is some seconds old, and no picture of a circuit may contradict the state beside it.
        LivePoint last = past.Count > 0 && past[^1].Time >= now ? past[^1] : new LivePoint { Time = now, State = breaker.State, Opened = breaker.Opened };
        int count = past.Count > 0 && last == past[^1] ? past.Count : past.Count + 1;
        if (count < 2)
        {
            return page.Add($"<span class=\"soft\">no history yet</span>");
        }

        int width = isLarge ? 640 : 140;
        double whole = Math.Max(1, (last.Time - past[0].Time).TotalSeconds);
        long opened = 0;
        for (int i = 1; i < count; i++)
        {
            opened += Opened(At(i - 1), At(i));
        }

        string says = $"State over {Words.Span(last.Time - past[0].Time)}: now {Words.State(last.State)}, opened {Words.Times(opened)}";
        page.Add($"<svg width=\"{width}\" height=\"14\" viewBox=\"0 0 {width} 14\" role=\"img\"><title>{says}</title>");
        for (int i = 0; i < count;)
        {
            int next = i + 1;
            while (next < count && At(next).State == At(i).State)
            {
                next++;
            }

            string look = At(i).State switch { LiveState.Closed => "closed", LiveState.HalfOpen => "half", _ => "open" };
            double from = XOf(At(i));
            page.Add($"<rect class=\"{look}\" x=\"{from:F1}\" y=\"2\" width=\"{Math.Max(1, XOf(At(Math.Min(next, count - 1))) - from):F1}\" height=\"10\"/>");
            i = next;
        }

        // What opened and closed again between two looks is a line, because nobody knows for how long.
        for (int i = 1; i < count; i++)
        {
            if (Opened(At(i - 1), At(i)) > (IsOpen(At(i)) ? 1 : 0))
            {
                page.Add($"<rect class=\"open\" x=\"{XOf(At(i)):F1}\" y=\"2\" width=\"1\" height=\"10\"/>");
            }
        }

        page.Add($"</svg>");
        return isLarge ? page.Add($"<span class=\"soft\">{says}</span>") : default;

        LivePoint At(int i) => i < past.Count ? past[i] : last;
        double XOf(LivePoint point) => (point.Time - past[0].Time).TotalSeconds / whole * width;
    }

    /// <summary>How the time of a stage divides.</summary>
    public static Markup.Written Shares(Markup page, LiveStage stage, int width = 120) =>
        page.Add($"<svg width=\"{width}\" height=\"12\" viewBox=\"0 0 {width} 12\" role=\"img\"><title>{Words.Stage(stage)}</title><rect class=\"rest\" width=\"{width}\" height=\"12\"/><rect class=\"busy\" width=\"{stage.Busy * width:F1}\" height=\"12\"/><rect class=\"blocked\" x=\"{stage.Busy * width:F1}\" width=\"{stage.Blocked * width:F1}\" height=\"12\"/></svg>");

    /// <summary>A network of blocks: a column for each step from its first blocks, with what waits in each block, and the bottleneck marked.</summary>
    public static Markup.Written Network(Markup page, LiveEntry network, IReadOnlyList<LiveEntry> blocks, Dictionary<string, LiveStage> stages)
    {
        ILookup<string, string> feeders = blocks.SelectMany(static block => block.Feeds ?? [], static (block, to) => (block.Id, To: to))
            .ToLookup(static link => link.To, static link => link.Id);
        Dictionary<string, int> columns = Columns(blocks, feeders);
        Dictionary<string, (int X, int Y)> places = [];
        int rows = 0;
        foreach (IGrouping<int, LiveEntry> column in blocks.GroupBy(block => columns[block.Id]).OrderBy(static column => column.Key))
        {
            int row = 0;

            // Beside the middle of what feeds it, so that few links cross.
            foreach (LiveEntry block in column.OrderBy(block => feeders[block.Id].Where(places.ContainsKey).Select(id => places[id].Y).DefaultIfEmpty().Average()).ToList())
            {
                places[block.Id] = (8 + (column.Key * (NodeWidth + ColumnGap)), 8 + (row++ * (NodeHeight + RowGap)));
            }

            rows = Math.Max(rows, row);
        }

        int width = 16 + ((columns.Values.Max() + 1) * (NodeWidth + ColumnGap)) - ColumnGap;
        int height = 16 + (rows * (NodeHeight + RowGap)) - RowGap;
        page.Add($"<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\"><title>Network of {Words.Count(blocks.Count, "block")}; the table below has the same</title>");
        foreach (LiveEntry block in blocks)
        {
            foreach (string to in block.Feeds ?? [])
            {
                if (places.TryGetValue(to, out (int X, int Y) end))
                {
                    AddEdge(page, places[block.Id], end);
                }
            }
        }

        foreach (LiveEntry block in blocks)
        {
            AddNode(page, block, places[block.Id], network, stages.GetValueOrDefault(block.Id));
        }

        page.Add($"</svg>");
        return default;
    }

    /// <summary>How often it opened between two looks. Breakers by key that were forgotten meanwhile take theirs with them.</summary>
    private static long Opened(LivePoint before, LivePoint after) =>
        Math.Max(!IsOpen(before) && IsOpen(after) ? 1 : 0, (after.Opened ?? 0) - (before.Opened ?? after.Opened ?? 0));

    private static bool IsOpen(LivePoint point) => point.State is LiveState.Open or LiveState.Isolated;

    /// <summary>A line through the points. Of those in a row that are equally high, only the first and the last are written: most of what is live does the same for long.</summary>
    private static Markup.Written Line(Markup page, IReadOnlyList<LivePoint> points, Func<LivePoint, double> value, double most, int width, int height)
    {
        // Two points a pixel say no more than one.
        int step = Math.Max(1, points.Count / width);
        double seconds = Math.Max(1, (points[^1].Time - points[0].Time).TotalSeconds);
        (double X, int Tenths)? written = null;
        (double X, int Tenths)? passed = null;
        for (int i = 0; i < points.Count; i = i == points.Count - 1 ? points.Count : Math.Min(i + step, points.Count - 1))
        {
            double x = (points[i].Time - points[0].Time).TotalSeconds / seconds * width;
            int tenths = (int)Math.Round(10 * (height - 1 - (value(points[i]) / Math.Max(most, double.Epsilon) * (height - 3))));
            if (written?.Tenths == tenths)
            {
                passed = (x, tenths);
                continue;
            }

            Write(passed);
            Write((x, tenths));
        }

        return Write(passed);

        Markup.Written Write((double X, int Tenths)? point)
        {
            if (point is { } known)
            {
                page.Add($"{known.X:F1},{known.Tenths / 10.0:F1} ");
                written = point;
            }

            passed = null;
            return default;
        }
    }

    /// <summary>How many links lie between a block and the first of its network, at most. Of a circle, the link back to its first block does not count.</summary>
    private static Dictionary<string, int> Columns(IReadOnlyList<LiveEntry> blocks, ILookup<string, string> feeders)
    {
        Dictionary<string, LiveEntry> left = blocks.ToDictionary(static block => block.Id);
        Dictionary<string, int> awaited = blocks.ToDictionary(static block => block.Id, block => feeders[block.Id].Count());
        Dictionary<string, int> columns = blocks.ToDictionary(static block => block.Id, static _ => 0);
        Queue<string> ready = new(blocks.Where(block => awaited[block.Id] == 0).Select(static block => block.Id));
        while (left.Count > 0)
        {
            if (!ready.TryDequeue(out string? id))
            {
                // What is left waits for a circle: one of its blocks begins it.
                id = left.Keys.First();
            }

            if (!left.Remove(id, out LiveEntry? block))
            {
                continue;
            }

            foreach (string to in (block.Feeds ?? []).Where(left.ContainsKey))
            {
                columns[to] = Math.Max(columns[to], columns[id] + 1);
                if (--awaited[to] == 0)
                {
                    ready.Enqueue(to);
                }
            }
        }

        return columns;
    }

    private static void AddEdge(Markup page, (int X, int Y) from, (int X, int Y) to)
    {
        (int x, int y) = (from.X + NodeWidth, from.Y + (NodeHeight / 2));
        (int endX, int endY) = (to.X - 6, to.Y + (NodeHeight / 2));
        page.Add($"<path class=\"edge\" d=\"M{x} {y} C{x + (ColumnGap / 2)} {y} {endX - (ColumnGap / 2)} {endY} {endX} {endY}\"/>");
        page.Add($"<path class=\"arrow\" d=\"M{endX} {endY - 4} l6 4 l-6 4 z\"/>");
    }

    private static void AddNode(Markup page, LiveEntry block, (int X, int Y) at, LiveEntry network, LiveStage? stage)
    {
        bool isBottleneck = network.Bottleneck?.Id == block.Id;
        string look = isBottleneck ? "node bottleneck" : "node";
        string name = Words.Name(block);
        string shown = name.Length > 22 ? string.Concat(name.AsSpan(0, char.IsHighSurrogate(name[20]) ? 20 : 21), "…") : name;
        string queue = block.Capacity is { } capacity ? $"{Words.Number(block.Waiting ?? 0)} of {Words.Number(capacity)} wait" : $"{Words.Number(block.Waiting ?? 0)} wait";
        page.Add($"<g><title>{name}: {queue}, {Words.Number(block.Done ?? 0)} done{(isBottleneck ? "; the bottleneck" : "")}</title>");
        page.Add($"<rect class=\"{look}\" x=\"{at.X}\" y=\"{at.Y}\" width=\"{NodeWidth}\" height=\"{NodeHeight}\" rx=\"6\"/>");
        page.Add($"<text x=\"{at.X + 8}\" y=\"{at.Y + 18}\">{shown}</text><text class=\"small\" x=\"{at.X + 8}\" y=\"{at.Y + 33}\">{queue}, {Words.Rate(block)}</text>");
        double full = block.Capacity is > 0 ? Math.Min(1, (block.Waiting ?? 0) / (double)block.Capacity.Value) : 0;
        page.Add($"<rect class=\"rest\" x=\"{at.X + 8}\" y=\"{at.Y + 40}\" width=\"{NodeWidth - 16}\" height=\"6\"/><rect class=\"queued\" x=\"{at.X + 8}\" y=\"{at.Y + 40}\" width=\"{full * (NodeWidth - 16):F1}\" height=\"6\"/>");
        if (stage is not null)
        {
            page.Add($"<rect class=\"rest\" x=\"{at.X + 8}\" y=\"{at.Y + 50}\" width=\"{NodeWidth - 16}\" height=\"6\"/><rect class=\"busy\" x=\"{at.X + 8}\" y=\"{at.Y + 50}\" width=\"{stage.Busy * (NodeWidth - 16):F1}\" height=\"6\"/>");
        }

        page.Add($"</g>");
    }
}
