namespace Weir.TestKit;

/// <summary>The circles of a graph: groups in which each can be reached from each other one.</summary>
public static class Circles
{
    /// <summary>Each circle once, with the names in it in order; the largest first.</summary>
    /// <param name="arrows">Who uses whom.</param>
    public static List<string[]> Of(IEnumerable<(string From, string To)> arrows)
    {
        Dictionary<string, HashSet<string>> next = [];
        foreach ((string from, string to) in arrows)
        {
            if (!next.TryGetValue(from, out HashSet<string>? targets))
            {
                next[from] = targets = [];
            }

            targets.Add(to);
        }

        Dictionary<string, HashSet<string>> reached = next.Keys.ToDictionary(static from => from, from => Reach(from, next));
        return [.. reached.Where(static pair => pair.Value.Contains(pair.Key))
            .Select(pair => pair.Value.Where(other => reached.TryGetValue(other, out HashSet<string>? back) && back.Contains(pair.Key)).Order(StringComparer.Ordinal).ToArray())
            .DistinctBy(static circle => circle[0])
            .OrderByDescending(static circle => circle.Length)
            .ThenBy(static circle => circle[0], StringComparer.Ordinal)];
    }

    private static HashSet<string> Reach(string from, Dictionary<string, HashSet<string>> next)
    {
        HashSet<string> reached = [];
        Stack<string> open = new([from]);
        while (open.TryPop(out string? at))
        {
            foreach (string to in next.GetValueOrDefault(at, []).Where(reached.Add))
            {
                open.Push(to);
            }
        }

        return reached;
    }
}
