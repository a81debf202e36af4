namespace Weir.Cli.Commands.Gate;

/// <summary>
/// Decides whether a change may pass. Everything is measured once; what is undecided is measured once more; and what looks worse is measured again with new
/// processes, and fails only if it is worse again.
/// </summary>
/// <param name="measure">
/// Measures some of the groups, by their numbers, within a time and at a level, and compares: one result with the comparisons of these groups, in their order.
/// </param>
/// <param name="options">Margin and level of the whole gate.</param>
/// <param name="within">The time that each group has in all passes together.</param>
internal sealed class GatePasses(
    Func<IReadOnlyList<int>, TimeSpan, ComparisonOptions, Task<IReadOnlyList<GateGroup>>> measure, ComparisonOptions options, TimeSpan within)
{
    // One pass to look, one to look again, one to confirm.
    private const int Passes = 3;

    /// <summary>Runs them.</summary>
    /// <returns>The groups in their order, with what they come to. One that is worse was worse twice, in processes of its own.</returns>
    /// <remarks>
    /// The two looks share alpha (Bonferroni), so a group without a difference looks worse in at most a share alpha of gates, and again in at most a share
    /// alpha of those: with 1 %, it fails in at most one of ten thousand.
    /// </remarks>
    public async Task<IReadOnlyList<GateGroup>> RunAsync(int groups, CancellationToken stop)
    {
        ComparisonOptions half = options with { Alpha = options.Alpha / 2 };
        GateGroup[] found = [.. await measure([.. Enumerable.Range(0, groups)], within / Passes, half)];
        await AgainAsync(
            found, static g => !g.Comparisons.Any(static c => c.IsWorse)
                && (g.Comparisons.Count == 0 || g.Comparisons.Any(static c => c.Verdict == Verdict.Inconclusive)),
            half,
            static (before, now) => now.Comparisons.Count > 0 ? now with { Comparisons = [.. BytesAgain(before, now)] } : before, stop);
        bool isConfirmed = await AgainAsync(found, static g => g.Comparisons.Any(static c => c.IsWorse), options, Confirmed, stop);
        return isConfirmed ? found : [.. found.Select(static g => g with { Comparisons = [.. g.Comparisons.Select(Unconfirmed)] })];
    }

    // Whether it was not stopped before.
    private async Task<bool> AgainAsync(
        GateGroup[] found, Func<GateGroup, bool> isAsked, ComparisonOptions level, Func<GateGroup, GateGroup, GateGroup> merge, CancellationToken stop)
    {
        int[] asked = [.. Enumerable.Range(0, found.Length).Where(i => isAsked(found[i]))];
        if (asked.Length > 0 && !stop.IsCancellationRequested)
        {
            IReadOnlyList<GateGroup> again = await measure(asked, within / Passes, level);
            for (int i = 0; i < asked.Length; i++)
            {
                found[asked[i]] = merge(found[asked[i]], again[i]);
            }
        }

        return asked.Length == 0 || !stop.IsCancellationRequested;
    }

    // By the figures that were worse before: another one would be a first time.
    private static GateGroup Confirmed(GateGroup before, GateGroup now) => now.Comparisons.Count == 0
        ? before with { Comparisons = [.. before.Comparisons.Select(Unconfirmed)] }
        : now with
        {
            Comparisons =
            [
                .. BytesAgain(before, now).Select(c => (before.Comparisons.Any(b => b.IsWorse && IsSame(b, c)), c.IsWorse) switch
                {
                    (true, true) => c with { Note = "confirmed by a second measurement" },
                    (true, false) => c with { Note = "looked worse once, and not again" },
                    _ => Unconfirmed(c),
                }),
            ],
        };

    // Other programs do not change how many bytes a call allocates, but beside them a pass may end with too few calls to be sure. The same counts of whole
    // objects in new processes are no chance.
    private static IEnumerable<ComparisonRecord> BytesAgain(GateGroup before, GateGroup now) => now.Comparisons.Select(c =>
        c is { Figure: ComparedFigure.Bytes, Verdict: Verdict.Inconclusive, Value: { } value, AgainstValue: { } against }
            && ArmBytes.AreWhole(value) && ArmBytes.AreWhole(against)
            && before.Comparisons.FirstOrDefault(b => IsSame(b, c)) is { Value: { } was, AgainstValue: { } wasAgainst }
            && ArmBytes.AreSame(value, was) && ArmBytes.AreSame(against, wasAgainst)
            && ArmBytes.Exact(value, against) is var verdict
            ? c with { Low = c.Ratio, High = c.Ratio, P = verdict == Verdict.Equivalent ? 1 : 0, Verdict = verdict }
            : c);

    private static ComparisonRecord Unconfirmed(ComparisonRecord c) =>
        c.IsWorse ? c with { Verdict = Verdict.Inconclusive, Note = "looked worse once, which was not confirmed" } : c;

    private static bool IsSame(ComparisonRecord a, ComparisonRecord b) => (a.Arm, a.Against, a.Figure) == (b.Arm, b.Against, b.Figure);
}
