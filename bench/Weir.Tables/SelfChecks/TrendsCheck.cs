namespace Weir.Tables.SelfChecks;

/// <summary>Whether <c>weir run</c> says that a method gets slower or leaks, and says neither of one that does not.</summary>
/// <param name="command">Runs it.</param>
/// <param name="runs">How often each is measured; every other time beside neighbours.</param>
internal sealed class TrendsCheck(KeptRuns command, int runs)
{
    // A drift of 1 % a second shows in half a minute: beside neighbours, rates at equal room still differ by 5 to 8 % from second to second.
    private static readonly string[] Long = ["--workers", "1", "--rounds", "30", "--duration", "1s"];
    private static readonly string[] Short = ["--workers", "1", "--rounds", "5", "--duration", "300ms"];

    /// <summary>What is measured: the method, what must be found, how the finding begins, and how long it takes to find it.</summary>
    internal static IReadOnlyList<(string Method, RunCause? Cause, string Begins, IReadOnlyList<string> How)> Planted { get; } =
    [
        ($"{nameof(PlantedTrends)}.{nameof(PlantedTrends.SlowsDown)}", RunCause.Drift, "The rate fell", Long),
        ($"{nameof(PlantedTrends)}.{nameof(PlantedTrends.Leaks)}", RunCause.Growth, "Memory is kept", Short),
        ($"{nameof(PairedMethods)}.{nameof(PairedMethods.Compute)}", null, "", Long),
    ];

    /// <summary>Measures them in turns.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        List<ResultFile>[] all = [.. Planted.Select(static _ => new List<ResultFile>())];
        for (int i = 1; i <= runs; i++)
        {
            for (int p = 0; p < all.Length; p++)
            {
                all[p].Add(await command.RunAsync(
                    Invariant($"trends-{Planted[p].Method.Split('.')[^1]}-{i:00}"), i % 2 == 0 ? Neighbours.Usual : 0,
                    [.. Arguments(p)], static r => Trends(r).FirstOrDefault()?.Text ?? "no trend", cancellationToken));
            }
        }

        return Section(all);
    }

    internal static CheckSection Section(IReadOnlyList<IReadOnlyList<ResultFile>> all)
    {
        string table = "| command | should be found | found | something else | seconds: median | such as |\n|---|---|---|---|---|---|\n";
        bool isMet = true;
        for (int p = 0; p < all.Count; p++)
        {
            bool isSteady = Planted[p].Cause is null;
            int found = all[p].Count(r => Trends(r).Any(f => IsPlanted(f, p)));
            int other = all[p].Count(r => Trends(r).Any(f => !IsPlanted(f, p)));
            isMet &= isSteady ? other == 0 : found == all[p].Count;
            string should = Planted[p].Cause switch
            {
                RunCause.Drift => Invariant($"{PlantedTrends.SlowerBySecond * 100:0} % slower a second"),
                RunCause.Growth => Invariant($"{PlantedTrends.LeakedBytes} B kept a call"),
                _ => "nothing",
            };
            string sample = all[p].SelectMany(Trends).FirstOrDefault()?.Text.Split(". ")[0] ?? "-";
            table += Invariant($"| `{WeirCommand.Text(Arguments(p))}` | {should} | {(isSteady ? "-" : Invariant($"{found} of {all[p].Count}"))} | ")
                + Invariant($"{other} of {all[p].Count} | {Spread.Of(all[p].Select(static r => r.Seconds)).Median:0} | {sample} |\n");
        }

        return new CheckSection(
            Invariant($"each of {all[0].Count} runs of a method that gets {PlantedTrends.SlowerBySecond * 100:0} % slower a second says that the rate fell, ")
                + Invariant($"each of {all[1].Count} of one that keeps {PlantedTrends.LeakedBytes} B a call says that memory is kept, and none of ")
                + Invariant($"{all[2].Count} of a steady one says either."),
            table + Invariant($"\nEvery other run is made beside {Neighbours.Usual} busy threads of another process. Of a steady method, a drift is found by ")
                + "chance in one of 200 runs, and where the machine itself gets slower.\n",
            isMet);
    }

    private static IEnumerable<string> Arguments(int planted) =>
        ["run", "--assembly", WeirCommand.UserAssembly, "--method", Planted[planted].Method, .. Planted[planted].How];

    private static IEnumerable<Finding> Trends(ResultFile result) => result.Findings.Where(static f => f.Cause is RunCause.Drift or RunCause.Growth);

    private static bool IsPlanted(Finding finding, int planted) =>
        finding.Cause == Planted[planted].Cause && finding.Text.StartsWith(Planted[planted].Begins, StringComparison.Ordinal);
}
