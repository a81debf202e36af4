using Weir.Lab.Report.Tables;

namespace Weir.Tables.SelfChecks;

/// <summary>Whether the shares of a profile are those of the work: of code that only computes, and of a native call that only sleeps.</summary>
/// <param name="command">Runs it.</param>
/// <param name="runs">How often each is profiled, alone and beside neighbours.</param>
internal sealed class ProfileCheck(KeptRuns command, int runs)
{
    private const double LeastHot = 0.95;
    private const string Hot = $"{nameof(PlantedHotSpot)}.{nameof(PlantedHotSpot.Computes)}";
    private const string Sleeping = $"{nameof(PlantedWaits)}.{nameof(PlantedWaits.SleepsInTheSystem)}";

    /// <summary>Profiles them in turns.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        List<(int Neighbours, ResultFile Hot, ResultFile Sleeping)> all = [];
        for (int i = 1; i <= runs; i++)
        {
            foreach (int neighbours in new[] { 0, Neighbours.Usual })
            {
                ResultFile hot = await RunOneAsync(Hot, neighbours, i, static r => Invariant($"{HotShare(r) * 100:0} % in the hot method"), cancellationToken);
                ResultFile sleeping = await RunOneAsync(
                    Sleeping, neighbours, i, static r => Invariant($"{WaitingShare(r) * 100:0} % waiting in the native call"), cancellationToken);
                all.Add((neighbours, hot, sleeping));
            }
        }

        return Section(all);
    }

    internal static CheckSection Section(IReadOnlyList<(int Neighbours, ResultFile Hot, ResultFile Sleeping)> all)
    {
        string table = "| method | neighbours | profiles | share of the goal: least | median | samples: fewest |\n|---|---|---|---|---|---|\n";
        foreach (IGrouping<int, (int Neighbours, ResultFile Hot, ResultFile Sleeping)> group in all.GroupBy(static a => a.Neighbours))
        {
            table += Row(Hot, group.Key, [.. group.Select(static a => a.Hot)], HotShare)
                + Row(Sleeping, group.Key, [.. group.Select(static a => a.Sleeping)], WaitingShare);
        }

        return new CheckSection(
            Invariant($"of a worker that computes all the time, the method that computes has at least {LeastHot * 100:0} % of the work's samples; of a worker ")
                + "that sleeps in a native call, that call is the longest wait and has more samples than all work; each time, alone and beside busy "
                + "neighbours.",
            table
                + "\nEach is `weir run --workers 1 --rounds 2 --duration 200ms --profile`. The share of the first is that of the work's samples which the "
                + "method has, and that of the second the share of all samples which wait in the call. A thread that waits for a processor which neighbours "
                + "have counts as work, because nothing but the neighbours holds it.\n",
            all.All(static a => HotShare(a.Hot) >= LeastHot && IsLongestWait(a.Sleeping) && WaitingShare(a.Sleeping) > 0.5),
            NeedsQuiet: false);
    }

    private Task<ResultFile> RunOneAsync(string method, int neighbours, int number, Func<ResultFile, string> said, CancellationToken cancellationToken) =>
        command.RunAsync(
            Invariant($"profile-{method.Split('.')[^1]}-{neighbours}-{number:00}"),
            neighbours,
            ["run", "--assembly", WeirCommand.UserAssembly, "--method", method, "--workers", "1", "--rounds", "2", "--duration", "200ms", "--profile"],
            said,
            cancellationToken);

    private static ProfileRecord? ProfileOf(ResultFile result) => result.Arms is [{ Profile: { } profile }] ? profile : null;

    private static double HotShare(ResultFile result) => ProfileOf(result) is { Samples: > 0 } profile
        ? profile.Methods().Where(static m => IsOf(m.Name, nameof(PlantedHotSpot), PlantedHotSpot.HotMethod)).Sum(static m => m.Inclusive)
            / (double)profile.Samples
        : 0;

    private static double WaitingShare(ResultFile result) => ProfileOf(result) is { Waiting: > 0 } profile
        ? (double)(SiteOf(profile)?.Samples ?? 0) / (profile.Waiting + profile.Samples)
        : 0;

    private static bool IsLongestWait(ResultFile result) =>
        ProfileOf(result) is { } profile && SiteOf(profile) is { } site && site == WaitSite.Of(profile.Waits)[0];

    private static WaitSite? SiteOf(ProfileRecord profile) => WaitSite.Of(profile.Waits).FirstOrDefault(
        static w => w.For == "a native call" && IsOf(w.Method, nameof(PlantedWaits), nameof(PlantedWaits.SleepsInTheSystem)));

    private static bool IsOf(string name, string type, string method) => name.EndsWith($".{type}.{method}", StringComparison.Ordinal);

    private static string Row(string method, int neighbours, IReadOnlyList<ResultFile> results, Func<ResultFile, double> share) => Invariant(
        $"| `{method}` | {neighbours} | {results.Count} | {results.Min(share) * 100:0.0} % | {Spread.Of(results.Select(share)).Median * 100:0.0} % | ")
            + Invariant($"{results.Min(static r => ProfileOf(r) is { } p ? p.Samples + p.Waiting : 0)} |\n");
}
