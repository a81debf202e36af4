using System.Reflection;
using Weir.Lab.Processes;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Work;
using static System.FormattableString;

namespace Weir.Tables.SelfChecks;

/// <summary>
/// How often the <c>weir compare</c> command reports a difference between identical things, and misses one that is a tenth slower, beside a busy process.
/// </summary>
/// <param name="program">The program that answers <c>compare</c>.</param>
/// <param name="runs">How often each of the two comparisons is made.</param>
/// <param name="keep">Where the results are stored. Existing results are not measured again, so that the check can be done in parts.</param>
/// <param name="progress">Where each result is told.</param>
internal sealed class VerdictCheck(Assembly program, int runs, DirectoryInfo keep, TextWriter progress)
{
    /// <summary>The default number of runs of each of the two comparisons.</summary>
    public const int UsualRuns = 20;

    private const double LeastFound = 0.95;
    private const double LeastEquivalent = 0.75;
    private const double MostSeconds = 40;

    private static readonly (string Name, string[] Arguments) Same = ("same", ["compare", "cpu:grain=10us", "cpu:grain=10us"]);
    private static readonly (string Name, string[] Arguments) Slower = ("slower", ["compare", "cpu:grain=10us", "cpu:grain=11us"]);

    /// <summary>Makes the comparisons in turns.</summary>
    /// <exception cref="InvalidOperationException">The command came to no result.</exception>
    public async Task<CheckSection> RunAsync(CancellationToken cancellationToken)
    {
        List<KeptVerdict> same = [];
        List<KeptVerdict> slower = [];
        for (int i = 1; i <= runs; i++)
        {
            same.Add(await CompareAsync(Same, i, cancellationToken));
            slower.Add(await CompareAsync(Slower, i, cancellationToken));
        }

        return Section(same, slower);
    }

    internal static CheckSection Section(IReadOnlyList<KeptVerdict> same, IReadOnlyList<KeptVerdict> slower)
    {
        int found = (int)Math.Ceiling(LeastFound * slower.Count);
        int equivalent = (int)Math.Ceiling(LeastEquivalent * same.Count);
        bool isMet = Count(slower, Verdict.Slower) >= found && Count(same, Verdict.Equivalent) >= equivalent
            && Count(same, Verdict.Faster) + Count(same, Verdict.Slower) + Count(slower, Verdict.Faster) == 0
            && same.Concat(slower).All(static v => v.Seconds <= MostSeconds);
        string table = "| command | FASTER | SLOWER | EQUIVALENT | INCONCLUSIVE | median ratio | widest interval | looks | seconds: median | most "
            + "|\n|---|---|---|---|---|---|---|---|---|---|\n"
            + Row(Same.Arguments, same) + Row(Slower.Arguments, slower)
            + Invariant($"\nSeconds of each: {Times(same)}; {Times(slower)}. Measured from {same.Concat(slower).Min(static v => v.StartedAt):u} to ")
            + Invariant($"{same.Concat(slower).Max(static v => v.StartedAt):u}.\n\n")
            + Invariant(
                $"Each comparison runs the command with its defaults, in separate processes, while another process keeps {Neighbours} of ")
                    + Invariant(
                        $"{Environment.ProcessorCount} processors busy. Pairs of processes take turns (ABBA) in rounds of 100 ms and end when the ")
            + "comparison is decided. At most three looks share an alpha of 1 %, so all looks together report a false difference in at most 1 of 100 "
            + "comparisons. Interval and test have this level ([how](../measuring.md#comparing-in-turns)). "
            + Invariant($"No error in {same.Count} comparisons shows that fewer than {Math.Min(1, 3.0 / same.Count):P0} are wrong (95 %). A thousand ")
            + Invariant($"simulated comparisons show the 1 of 100 (`TurnsComparisonTests`).\n");
        return new CheckSection(
            Invariant($"of {slower.Count} comparisons with work that is a tenth longer, at least {found} are SLOWER; of {same.Count} comparisons of the same ")
                + Invariant($"work, at least {equivalent} are EQUIVALENT and none is FASTER or SLOWER; no comparison takes more than {MostSeconds:0} s."),
            table,
            isMet);
    }

    private static int Neighbours => Math.Max(1, Environment.ProcessorCount / 2);

    private async Task<KeptVerdict> CompareAsync((string Name, string[] Arguments) command, int number, CancellationToken cancellationToken)
    {
        DirectoryInfo folder = new(Path.Combine(keep.FullName, Invariant($"{command.Name}-{number:00}")));
        if (KeptVerdict.Read(folder, command.Arguments) is { } kept)
        {
            return kept;
        }

        cancellationToken.ThrowIfCancellationRequested();
        using CancellationTokenSource over = new();
        try
        {
            for (int i = 0; i < Neighbours; i++)
            {
                new Thread(() => Spin(over.Token)) { IsBackground = true, Name = "neighbour" }.Start();
            }

            ChildEnd end =
                await OwnProgram.Start(program, [.. command.Arguments, "--quiet", "--export", "json", "--out", folder.FullName], cancellationToken)();
            KeptVerdict verdict = KeptVerdict.Read(folder, command.Arguments)
                ?? throw new InvalidOperationException($"'weir {string.Join(' ', command.Arguments)}' ended with code {end.Code} and no result.");
            await progress.WriteLineAsync(
                Invariant(
                    $"{command.Name} {number}: ")
                        + Invariant($"{(verdict.Comparison is { } said ? $"{said.Verdict}, {said.Ratio:0.000} [{said.Interval}]" : "nothing compared")}, ")
                        + Invariant($"{verdict.Seconds:0} s"));
            return verdict;
        }
        finally
        {
            await over.CancelAsync();
        }
    }

    private static void Spin(CancellationToken over)
    {
        CalibratedSpin work = new(100_000);
        while (!over.IsCancellationRequested)
        {
            Sink.Consume(work.Run(1));
        }
    }

    private static string Row(string[] arguments, IReadOnlyList<KeptVerdict> verdicts)
    {
        ComparisonRecord[] compared = [.. verdicts.Select(static v => v.Comparison).OfType<ComparisonRecord>()];
        string widest = compared.MaxBy(static c => c.High / c.Low)?.Interval ?? "none";
        string ratio = compared.Length > 0 ? Invariant($"{Lab.Statistics.Spread.Of(compared.Select(static c => c.Ratio)).Median:0.000}") : "none";
        double Median(Func<KeptVerdict, double> figure) => Lab.Statistics.Spread.Of(verdicts.Select(figure)).Median;
        return Invariant(
            $"| `weir {string.Join(' ', arguments)}` | {Count(verdicts, Verdict.Faster)} | {Count(verdicts, Verdict.Slower)} | ")
                + Invariant(
                    $"{Count(verdicts, Verdict.Equivalent)} | {Count(verdicts, Verdict.Inconclusive)} | {ratio} | ")
                        + Invariant($"{widest.Replace("..", " to ", StringComparison.Ordinal)} | {Looks(verdicts)} | {Median(static v => v.Seconds):0.0} | ")
                        + Invariant($"{verdicts.Max(static v => v.Seconds):0.0} |\n");
    }

    // Such as "1 (13), 2 (5), 3 (2)".
    private static string Looks(IEnumerable<KeptVerdict> verdicts) =>
        string.Join(
            ", ", verdicts.GroupBy(static v => v.Comparison?.Looks ?? 0).OrderBy(static g => g.Key).Select(static g => Invariant($"{g.Key} ({g.Count()})")));

    private static string Times(IEnumerable<KeptVerdict> verdicts) => string.Join(' ', verdicts.Select(static v => Invariant($"{v.Seconds:0}")));

    private static int Count(IEnumerable<KeptVerdict> verdicts, Verdict verdict) => verdicts.Count(v => v.Comparison?.Verdict == verdict);
}
