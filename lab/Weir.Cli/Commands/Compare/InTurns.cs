namespace Weir.Cli.Commands.Compare;

/// <summary>Measures and compares, group by group.</summary>
/// <param name="sides">What is compared with what.</param>
/// <param name="plan">How each group is measured.</param>
/// <param name="comparison">Margin and level of all comparisons together.</param>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="progress">Is told of each round.</param>
internal sealed class InTurns(Sides sides, TurnPlan plan, ComparisonOptions comparison, WeirHost host, RunProgress progress)
{
    // Bonferroni: false differences are no more frequent than with a single comparison. Holm's correction is not possible here, because each group ends before
    // the next is measured.
    private readonly ComparisonOptions _each = comparison with { Alpha = comparison.Alpha / sides.Comparisons };

    /// <summary>Measures and compares.</summary>
    public async Task<ResultFile> MeasureAsync(IReadOnlyList<string> arguments)
    {
        long began = Stopwatch.GetTimestamp();
        WorkerOrder[] orders = [.. sides.Groups.SelectMany(static g => g)
            .Select(s => sides.Settings.Order(s.Workload, s.Workload.Workers ?? sides.Settings.Workers[0], rounds: 1)
                .With(run => run with { Workload = s.Name }))];
        double clock = Clock.MeasureReadCost();
        Turns[] turns = [.. sides.Groups.Select(_ => new Turns(host, plan, _each, clock, progress))];
        ResultFile result = await new WorkerArms(host, "compare", arguments).MeasureInTurnsAsync(
            orders,
            sides.Settings,
            all => ArmGroups.MeasureAsync(
                all,
                [.. sides.Groups.Select(static g => g.Count)],
                (group, own) => turns[group].MeasureAsync(own, group == 0 ? began : Stopwatch.GetTimestamp()),
                host.Stop));
        return result with
        {
            Comparisons = [.. Comparisons(result, turns)],
            Findings = [.. result.Findings, .. Finding.SharedAlpha(sides.Comparisons, comparison.Alpha), .. Missing()],
        };
    }

    private Finding[] Missing() => sides.InOneOnly.Count == 0 ? []
        : [new Finding(
            FindingLevel.Note, $"Not compared, because only one of the two builds has them: {string.Join(", ", sides.InOneOnly)}.", FindingKind.Difference)];

    private IEnumerable<ComparisonRecord> Comparisons(ResultFile result, Turns[] turns)
    {
        int arm = 0;
        for (int group = 0; group < turns.Length; group++)
        {
            ArmRecord against = result.Arms[arm++];
            foreach (ArmRecord candidate in result.Arms.Skip(arm).Take(sides.Groups[group].Count - 1))
            {
                arm++;
                foreach (ComparisonRecord compared in Comparing.Figures(
                    candidate, against, _each, result.Machine.ClockNs, turns[group].Looks, turns[group].Share))
                {
                    yield return compared;
                }
            }
        }
    }
}

/// <summary>How two workloads are measured in turns.</summary>
/// <param name="Processes">The most processes of each side. Each takes turns with a process of the other side.</param>
/// <param name="Rounds">The maximum number of rounds of each side. An odd number is rounded up.</param>
/// <param name="Within">The time limit, from the start, whatever the results are.</param>
internal sealed record TurnPlan(int Processes, int Rounds, TimeSpan Within)
{
    /// <summary>How many pairs of processes there are: each makes two rounds of each side in a turn.</summary>
    public int Pairs => Math.Clamp(PairTurns, 1, Processes);

    /// <summary>How many turns all pairs together make at most.</summary>
    public int PairTurns => (Rounds + 1) / 2;

    /// <summary>How many turns a pair makes at most.</summary>
    public int Turns => (PairTurns + Pairs - 1) / Pairs;

    /// <summary>How many rounds both sides together make at most.</summary>
    public int AllRounds => 4 * PairTurns;
}

/// <summary>
/// Measures two or more workloads in many short rounds, until every comparison with the first is decided. Pairs of processes start one after the other, as many
/// at a time as the processors can warm up. The processes of a pair take turns (A B B A, and in the next pair B A A B; of three A B C C B A) and end, so that
/// there are as many pairs as fit in the time.
/// </summary>
internal sealed class Turns(WeirHost host, TurnPlan plan, ComparisonOptions options, double clock, RunProgress progress)
{
    // One pair proves nothing.
    private const int LeastPairs = 2;

    // The share of the time that a pair may take longer than all before it.
    private const double Tolerance = 0.05;

    // What the first pairs get if less is asked for: with fewer there would be nothing to say.
    private static readonly TimeSpan LeastTime = TimeSpan.FromSeconds(10);

    private readonly SequentialLooks _looks = new();
    private readonly List<Finding> _findings = [];
    private List<RoundRecord>[] _rounds = [];

    // As the first processes found it: those that follow take the same.
    private int? _batch;

    /// <summary>The number of looks: checks whether the comparison is decided.</summary>
    public int Looks { get; private set; }

    /// <summary>The share of alpha of the last look.</summary>
    public double Share { get; private set; } = 1;

    /// <summary>Measures.</summary>
    /// <returns>The rounds of both in the order in which they were made, and the findings about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(
        IReadOnlyList<WorkerOrder> orders, long began)
    {
        _rounds = [.. orders.Select(static _ => new List<RoundRecord>())];
        int atOnce = Math.Max(1, Environment.ProcessorCount / orders.Count);
        TimeSpan longest = TimeSpan.Zero;
        int batches = 0;
        for (int pair = 0; pair < plan.Pairs && !host.Stop.IsCancellationRequested;)
        {
            long start = Stopwatch.GetTimestamp();
            TimeSpan left = plan.Within - Stopwatch.GetElapsedTime(began, start);
            if (pair >= LeastPairs && longest > left)
            {
                break;
            }

            TimeSpan least = LeastTime - Stopwatch.GetElapsedTime(began, start);
            left = pair < LeastPairs && left < least ? least : left;
            int pairs = Math.Min(pair == 0 ? Math.Max(1, Math.Min(atOnce, plan.Pairs / LeastPairs)) : atOnce, plan.Pairs - pair);
            bool isWhole = await MeasureAsync(orders, pair, pairs, left + (plan.Within * Tolerance));
            pair += pairs;
            if (!isWhole)
            {
                if (!host.Stop.IsCancellationRequested && _rounds.Any(static r => r.Select(static x => x.Process).Distinct().Count() < LeastPairs))
                {
                    string early = $"The time was up before {LeastPairs} pairs of processes had ended; --within gives them more.";

                    // A side without a whole round is no result, and no stop by the user either.
                    FindingLevel level = _rounds.Any(static r => r.All(static x => x.Partial)) ? FindingLevel.Invalid : FindingLevel.Doubt;
                    _findings.Add(new Finding(level, early, FindingKind.Rounds));
                }

                break;
            }

            // The first batch takes longer, because this process gets warm too. So the second one replaces it, and from then on the longest counts.
            TimeSpan took = Stopwatch.GetElapsedTime(start);
            longest = ++batches <= 2 || took > longest ? took : longest;
            double progressed = Math.Max((double)pair / plan.Pairs, Stopwatch.GetElapsedTime(began) / plan.Within);
            if (pair >= LeastPairs && pair < plan.Pairs && _looks.IsDue(progressed) && longest < plan.Within - Stopwatch.GetElapsedTime(began)
                && Decide(orders, isLast: false))
            {
                return (_rounds, _findings);
            }
        }

        Decide(orders, isLast: true);
        return (_rounds, _findings);
    }

    // The pairs of one batch: they warm up together, and each has its turn before one has the next.
    // Whether they ended within the limit.
    private async Task<bool> MeasureAsync(IReadOnlyList<WorkerOrder> orders, int first, int pairs, TimeSpan limit)
    {
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(host.Stop);
        stop.CancelAfter(limit > TimeSpan.Zero ? limit : TimeSpan.Zero);
        TurnSessions sessions = new(host with { Stop = stop.Token }, orders, pairs, plan.AllRounds / 2 * orders.Count, progress)
        {
            First = first, Made = _rounds.Sum(static r => r.Count), Batch = _batch,
        };
        await sessions.WarmUpAsync();
        _batch = sessions.Batch;
        await RoundRunner.TakeTurnsAsync(
            orders.Count, round => round < plan.Turns * pairs, async (side, round) => await sessions.RoundAsync(side, round % pairs, round / pairs) is null
                ? RoundEnd.Over : RoundEnd.Next, CancellationToken.None, order: Order);
        (IReadOnlyList<IReadOnlyList<RoundRecord>> rounds, IReadOnlyList<Finding> findings) = await sessions.EndAsync();
        for (int side = 0; side < _rounds.Length; side++)
        {
            _rounds[side].AddRange(rounds[side]);
        }

        _findings.AddRange(findings);
        return !stop.IsCancellationRequested;

        // There and back, and in every other turn of a pair the other way round.
        IEnumerable<int> Order(int round)
        {
            int[] sides = [.. Enumerable.Range(0, orders.Count)];
            int[] there = ((round / pairs) + first + (round % pairs)) % 2 == 0 ? sides : [.. sides.Reverse()];
            return there.Concat(there.Reverse());
        }
    }

    private bool Decide(IReadOnlyList<WorkerOrder> orders, bool isLast)
    {
        Looks++;
        Share = _looks.Take(isLast);
        ArmRecord[] arms = [.. orders.Select((o, i) => new ArmRecord { Name = o.Name, Workers = o.Workers, Rounds = _rounds[i] })];
        return arms.Skip(1).All(arm => Comparing.Figures(arm, arms[0], options, clock, Looks, Share) is { Count: > 0 } compared
            && compared.All(c => c.Verdict != Verdict.Inconclusive || (options.Figures.Count > 1 && (c.Figure == ComparedFigure.Bytes || c.IsBelowClock))));
    }
}

/// <summary>The sides of the comparisons: in each group, all others are compared with the first.</summary>
/// <param name="Settings">The settings that all share.</param>
/// <param name="Groups">The sides of each group, by the names that they have in reports.</param>
internal sealed record Sides(RunSettings Settings, IReadOnlyList<IReadOnlyList<(string Name, WorkloadSpec Workload)>> Groups)
{
    /// <summary>The maximum number of sides that take turns. Each has several processes that stay alive.</summary>
    public const int Most = 8;

    private const int LongestBuildName = 40;

    /// <summary>Members that only one of two builds has, and that are not compared.</summary>
    public IReadOnlyList<string> InOneOnly { get; init; } = [];

    /// <summary>How many comparisons there are.</summary>
    public int Comparisons => Groups.Sum(static g => g.Count - 1);

    /// <summary>Finds out what is to be compared.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="texts">The workloads A and B; <see langword="null"/> for one that is not given.</param>
    /// <param name="options">The options of workloads.</param>
    /// <param name="against">Another build of the assembly; <see langword="null"/> for none.</param>
    /// <exception cref="BadInputException">There are not two things to compare, or one cannot be used.</exception>
    public static Sides Of(ParseResult parsed, IReadOnlyList<string?> texts, RunOptionSet options, OptionValue? against)
    {
        if (against is not null && !options.Subjects.HasAssembly(parsed))
        {
            throw new BadInputException("--against is another build of --assembly: --assembly before/X.dll --against after/X.dll.");
        }

        RunSettings first = options.Read(parsed, texts[0], other: against?.Text, mayRepeat: against is null);
        Sides sides = against is not null
            ? Builds(first, against) with { InOneOnly = options.Subjects.InOneOnly(parsed, first.Workload.Assembly!, against.Text) }
            : texts[1] is null ? Own(first, parsed.CommandResult.Command.Name)
            : Workloads(first, options.Read(parsed, texts[1]), texts!);
        return sides.Groups[0].Count <= Most
            ? sides
            : throw new BadInputException(
                $"{parsed.CommandResult.Command.Name} compares {sides.Groups[0].Count - 1} things with the first; at most {Most - 1} are possible at once.");
    }

    /// <summary>Two builds of one project.</summary>
    /// <exception cref="BadInputException">The builds do not both contain what is to be measured.</exception>
    public static Sides Of(ParseResult parsed, RunOptionSet options, (string Name, string Path) before, (string Name, string Path) after) =>
        Builds(options.Read(parsed, workload: null, before.Path, after.Path), new OptionValue("--project", after.Path), (before.Name, after.Name)) with
        {
            InOneOnly = options.Subjects.InOneOnly(parsed, before.Path, after.Path),
        };

    private static Sides Builds(RunSettings settings, OptionValue against, (string Before, string After)? names = null)
    {
        try
        {
            UserAssembly other = UserAssembly.Load(against.Text);
            foreach (WorkloadSpec workload in settings.Workloads)
            {
                _ = WorkloadCatalog.Create(workload, other);
            }
        }
        catch (BadInputException e)
        {
            throw new BadInputException($"{(names is { } own ? own.After : $"{against.Source} '{against.Text}'")}: {e.Message}");
        }

        string path = Path.GetFullPath(against.Text);
        (string before, string after) = names ?? BuildNames(settings.Workload.Assembly!, path);
        return new Sides(
            settings, [.. settings.Workloads.Select(w => new[] { ($"{w.Label} ({before})", w), ($"{w.Label} ({after})", w with { Assembly = path }) })]);
    }

    // Several methods with each other, or several values of the parameters of one.
    private static Sides Own(RunSettings settings, string command)
    {
        IReadOnlyList<IReadOnlyList<WorkloadSpec>> subjects = settings.Subjects;

        // What is compared with itself needs names that differ, as below.
        bool isRepeated = subjects.Select(static s => s[0].Name).Distinct().Count() < subjects.Count;
        string NameOf(int subject, WorkloadSpec workload) => isRepeated ? workload.Named($"{(char)('A' + subject)}: {workload.Name}") : workload.Label;
        return subjects.Count == 1 && subjects[0].Count == 1
            ? throw new BadInputException(
                $"{command} needs two things: A and B, several methods in --method (the same one twice shows what this machine can tell apart), another build "
                    + "in --against, or several values in --param.")
            : subjects.Count == 1 ? new Sides(settings, [[.. subjects[0].Select(static w => (w.Label, w))]])
            : new Sides(settings, [.. Enumerable.Range(0, subjects[0].Count).Select(i => subjects.Select((s, j) => (NameOf(j, s[i]), s[i])).ToArray())]);
    }

    private static Sides Workloads(RunSettings before, RunSettings after, IReadOnlyList<string> texts)
    {
        // Two sides with the same name need different names, even if they are the same thing.
        string[] names = before.Workload.Name != after.Workload.Name ? [before.Workload.Name, after.Workload.Name]
            : texts[0] != texts[1] ? [.. texts]
            : [$"A: {texts[0]}", $"B: {texts[1]}"];
        return new Sides(
            before,
            [
                .. before.Workloads.Zip(after.Workloads, (a, b) => new[] { (a.Named(names[0]), a with { Workers = a.Workers ?? before.Workers[0] }), (
                    b.Named(names[1]), b with { Workers = b.Workers ?? after.Workers[0] }) }),
            ]);
    }

    /// <summary>Short names for two builds: what differs in their paths.</summary>
    internal static (string Before, string After) BuildNames(string before, string after)
    {
        string[] left = before.Split(Path.DirectorySeparatorChar);
        string[] right = after.Split(Path.DirectorySeparatorChar);
        int most = Math.Min(left.Length, right.Length);
        int start = Enumerable.Range(0, most).TakeWhile(i => left[i] == right[i]).Count();
        int end = Enumerable.Range(1, most - start).TakeWhile(i => left[^i] == right[^i]).Count();
        (string one, string other) = (string.Join('/', left[start..^end]), string.Join('/', right[start..^end]));
        return one.Length is > 0 and <= LongestBuildName && other.Length is > 0 and <= LongestBuildName ? (one, other) : ("A", "B");
    }
}
