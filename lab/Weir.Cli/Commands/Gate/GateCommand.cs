namespace Weir.Cli.Commands.Gate;

/// <summary>The <c>gate</c> command: whether a change may pass. It fails only for what is worse twice.</summary>
internal static class GateCommand
{
    private const int MostRounds = 96;
    private const int MostProcesses = 16;
    private const string DefaultWithin = "60s";
    private static readonly TimeSpan DefaultWithinTime = TimeSpan.FromSeconds(60);

    public const string Name = "gate";

    public const string Description =
        "Fails if B is certainly worse than A. It measures both in turns, measures again what is undecided, and fails only if B is worse again in new "
            + "processes. It also compares the bytes of two reports of BenchmarkDotNet. The exit code is 2 if it fails.";

    public static Command Create(WeirHost host)
    {
        SideOptions sides = new(MostRounds);
        CompareOptionSet compare = new();
        HistoryOption directory = new();
        OutputOptionSet outputs = new();
        Command command = new(Name, Description);
        PullRequestOptionSet reviews = new();
        TextOption within = TextOption.Of("--within", null, "TIME", $"The most time for a comparison and its confirmation. Default {DefaultWithin}");
        sides.AddTo(command);
        reviews.AddTo(command);
        command.Add(within);
        compare.AddTo(command);
        command.Add(directory.Flag);
        outputs.AddTo(command);
        command.MakeRare("--groups", "--rate", "--max-failures", "--grain", "--rounds", "--duration", "--across", "--dir", "--alpha");
        command.SetAction(async (parsed, _) =>
        {
            string?[] texts = sides.Texts(parsed);
            ComparisonOptions options = compare.Read(parsed);
            OutputSettings output = outputs.Read(parsed);
            string? summary = reviews.File(parsed);
            TimeSpan time = within.Find(parsed)?.Time(TimeSpan.FromSeconds(3), TimeSpan.FromHours(1), DefaultWithin) ?? DefaultWithinTime;
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            ResultFile?[] files = [.. texts.Select(t => t is null ? null : CompareCommand.Stored(t, directory.Store(parsed)))];
            (string Before, string After) names = CompareCommand.NamesOf(texts[0] ?? "", texts[1] ?? "");
            ResultFile result = files switch
            {
                [{ } a, { } b] => ResultComparing.Compare((names.Before, a), (names.After, b), options, compare.Across(parsed), arguments),
                [null, null] when compare.Across(parsed).Count == 0 => await RunProgress.RunAsync(host, output.Quiet, p => sides.UseAsync(
                    parsed, p, found => new GateRun(found, compare.Read(parsed, CompareOptionSet.InTurns), time, host, p).MeasureAsync(arguments), host.Stop)),
                _ => throw new BadInputException(compare.Across(parsed).Count > 0
                    ? "--across is for two stored results; for workloads measured in turns, the command line says what differs."
                    : "gate needs two things: A and B must be two workloads, which are measured in turns, or two stored results."),
            };
            result = result with { Command = "gate" };
            int code = ResultOutput.Write(result, output, host);
            return reviews.Write(parsed, summary, result, code, host);
        });
        return command;
    }

    /// <summary>How the sides of a pass are measured.</summary>
    /// <param name="rounds">How many rounds each has at most.</param>
    /// <param name="within">The time of the pass.</param>
    public static TurnPlan PlanOf(int rounds, TimeSpan within) => new(MostProcesses, rounds, within);
}

/// <summary>A gate over sides that are measured in turns.</summary>
/// <param name="sides">What is compared with what.</param>
/// <param name="options">Margin and level of the whole gate.</param>
/// <param name="within">The time that each group has.</param>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="progress">Is told of each round.</param>
internal sealed class GateRun(Sides sides, ComparisonOptions options, TimeSpan within, WeirHost host, RunProgress progress)
{
    private readonly List<ResultFile> _passes = [];

    /// <summary>Measures and decides.</summary>
    public async Task<ResultFile> MeasureAsync(IReadOnlyList<string> arguments)
    {
        GatePasses passes = new(
            async (groups, time, level) =>
            {
                Sides own = sides with { Groups = [.. groups.Select(i => sides.Groups[i])] };
                ResultFile pass =
                    await new InTurns(own, GateCommand.PlanOf(sides.Settings.Rounds, time), level, host, progress).MeasureAsync(arguments);
                _passes.Add(pass);
                return [.. GroupsOf(own, pass)];
            },
            options,
            within);
        IReadOnlyList<GateGroup> found = await passes.RunAsync(sides.Groups.Count, host.Stop);
        return _passes[0] with
        {
            Seconds = _passes.Sum(static p => p.Seconds),
            Partial = _passes.Any(static p => p.Partial),
            Arms = [.. found.SelectMany(static g => g.Arms)],
            Comparisons = [.. found.SelectMany(static g => g.Comparisons).Select(WithWhatWasPossible)],
            Findings = [.. Finding.EachOnce(_passes.SelectMany(static p => p.Findings))],
        };
    }

    private static IEnumerable<GateGroup> GroupsOf(Sides own, ResultFile pass)
    {
        int arm = 0;
        foreach (int size in own.Groups.Select(static g => g.Count))
        {
            ArmRecord[] arms = [.. pass.Arms.Skip(arm).Take(size)];
            arm += size;
            yield return new GateGroup(
                arms, [.. pass.Comparisons.Where(c => c.Against == arms[0].Label && arms.Skip(1).Any(a => a.Label == c.Arm))]);
        }
    }

    // An undecided gate says what it could have seen.
    private static ComparisonRecord WithWhatWasPossible(ComparisonRecord c) =>
        c is { Verdict: Verdict.Inconclusive, Figure: not ComparedFigure.Bytes, Detectable: { } change }
            ? c with
            {
                Note = (c.Note is { } note ? note + "; " : "") + FormattableString.Invariant($"a change of {change * 100:0.#} % would have been found"),
            }
            : c;
}

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

/// <summary>Sides that were measured in turns, and what they come to.</summary>
/// <param name="Arms">The arms with their rounds.</param>
/// <param name="Comparisons">The comparisons with the first of them.</param>
internal sealed record GateGroup(IReadOnlyList<ArmRecord> Arms, IReadOnlyList<ComparisonRecord> Comparisons);
