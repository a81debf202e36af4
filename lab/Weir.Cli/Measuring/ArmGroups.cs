namespace Weir.Cli.Measuring;

/// <summary>
/// Measures groups of arms one group after the other. Only the arms of one group take turns, so that not all processes have to stay alive at once.
/// </summary>
internal static class ArmGroups
{
    /// <summary>Measures.</summary>
    /// <param name="orders">All arms.</param>
    /// <param name="sizes">How many arms each group has, in their order.</param>
    /// <param name="measure">Measures the arms of one group, given its number.</param>
    /// <param name="stop">Ends it before the next group.</param>
    /// <returns>The rounds of each arm, numbered in the order in which they were made.</returns>
    public static async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(
        IReadOnlyList<WorkerOrder> orders,
        IReadOnlyList<int> sizes,
        Func<int, IReadOnlyList<WorkerOrder>, Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)>> measure,
        CancellationToken stop)
    {
        List<IReadOnlyList<RoundRecord>> rounds = [];
        List<Finding> findings = [];
        int made = 0;
        for (int group = 0; group < sizes.Count; group++)
        {
            if (stop.IsCancellationRequested)
            {
                rounds.AddRange(Enumerable.Repeat<IReadOnlyList<RoundRecord>>([], orders.Count - rounds.Count));
                break;
            }

            (IReadOnlyList<IReadOnlyList<RoundRecord>> own, IReadOnlyList<Finding> said) =
                await measure(group, [.. orders.Skip(rounds.Count).Take(sizes[group])]);
            int before = made;
            rounds.AddRange(own.Select(arm => (IReadOnlyList<RoundRecord>)[.. arm.Select(r => r with { Order = r.Order + before })]));
            findings.AddRange(said);
            made = rounds.SelectMany(static r => r).Select(static r => r.Order).DefaultIfEmpty().Max();
        }

        return (rounds, findings);
    }
}
