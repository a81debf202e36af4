namespace Weir.Cli.Measuring;

/// <summary>The options of the commands over workloads: their names, ranges and defaults, and how they go together.</summary>
internal sealed class RunOptionSet
{
    private const string DefaultTimeout = "20s";
    private const string Abandon = $"Abandon the run if an operation has not ended after this time. Default {DefaultTimeout}";
    private const string Kill = $"Kill a run that has not ended after this time. Default {ProgramDefaults.UsualTimeout}";

    private readonly bool _isScale;
    private readonly int _defaultRounds;
    private readonly string _defaultDuration;
    private readonly string _defaultWorkers;
    private readonly TextOption _workers;
    private readonly TextOption _groups =
        TextOption.Of("--groups", null, "NAME:N,...", "Named groups instead of --workers: producers:1,consumers:7 for channel, method names for an assembly");
    private readonly TextOption _rate = TextOption.Of(
        "--rate", null, "N/s",
        "Start this many operations per second, whether earlier ones have ended or not; latency is then also measured from the intended start");
    private readonly TextOption _maxInFlight =
        TextOption.Of("--max-inflight", null, "N", "With --rate, drop starts while this many operations are in flight").Rare();
    private readonly TextOption _minThreads =
        TextOption.Of("--min-threads", null, "N", "Threads that the pool creates without waiting. Default: its own choice").Rare();
    private readonly TextOption _maxFailures =
        TextOption.Of("--max-failures", null, "SHARE", "The share of operations that may fail, such as 1%. Default 0%");
    private readonly TextOption _duration;
    private readonly TextOption _rounds;
    private readonly SubjectOptions _subjects;
    private readonly TextOption _seed = TextOption.Of("--seed", null, "N", "The seed of all random numbers. Default 1").Rare();
    private readonly TextOption _timeout;

    /// <summary>Creates the options.</summary>
    /// <param name="isScale">Whether several numbers of workers are measured.</param>
    /// <param name="rounds">How many rounds there are by default, and at most where what is measured decides.</param>
    /// <param name="duration">How long a round is by default.</param>
    /// <param name="isOfPrograms">Whether programs are measured, whose defaults are others.</param>
    /// <param name="isDecided">Whether the rounds end when a comparison is decided.</param>
    public RunOptionSet(bool isScale, int rounds, string duration, bool isOfPrograms = false, bool isDecided = false)
    {
        _isScale = isScale;
        _defaultRounds = rounds;
        _defaultDuration = duration;
        _defaultWorkers = isScale ? "1,2,4,8,16,32" : Environment.ProcessorCount.ToString(CultureInfo.InvariantCulture);
        _workers = TextOption.Of("--workers", null, isScale ? "N,N,..." : "N",
            $"How many workers. Default{(isScale ? $" {_defaultWorkers}" : ": the number of processors")}");
        _duration = TextOption.Of("--duration", null, "TIME", $"The length of a round. Default {duration}");
        string usual = isOfPrograms ? ProgramDefaults.UsualRounds : $"{rounds}{(isDecided ? " at most" : "")}";
        _rounds = TextOption.Of("--rounds", null, "N", $"How many rounds. Default {usual}");
        _timeout = TextOption.Of("--timeout", null, "TIME", isOfPrograms ? Kill : Abandon).Rare();
        _subjects = new SubjectOptions(isOfPrograms);
    }

    public void AddTo(Command command)
    {
        command.AddAll([_workers, .. _isScale ? [] : (Option[])[_groups, _rate, _maxInFlight], _duration, _rounds, _timeout, _minThreads, _maxFailures, _seed]);
        _subjects.AddTo(command);
    }

    /// <summary>What says what is measured.</summary>
    public SubjectOptions Subjects => _subjects;

    /// <summary>The options for the number and length of rounds, which apply to everything that is measured.</summary>
    public IReadOnlyList<Option> OfPrograms => [_rounds, _timeout, _subjects.Param];

    /// <summary>The requested number of rounds; <see langword="null"/> if it was not given.</summary>
    public int? RoundsOf(ParseResult parsed) => _rounds.Find(parsed)?.WholeNumber(1, 10_000);

    /// <summary>How long the end of what is measured is waited for.</summary>
    public TimeSpan TimeoutOf(ParseResult parsed, string usual) =>
        (_timeout.Find(parsed) ?? new OptionValue(_timeout.Name, usual))
            .Time(TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1), usual);

    public RunSettings Read(ParseResult parsed, string? workload, string? built = null, string? other = null, bool mayRepeat = false)
    {
        OptionValue? Find(TextOption option) => option.Find(parsed);

        OptionValue? workers = Find(_workers);
        OptionValue? groups = Find(_groups);
        IReadOnlyList<IReadOnlyList<WorkloadSpec>> subjects = _subjects.Read(parsed, workload, groups is not null, built, other, mayRepeat);
        WorkloadSpec spec = subjects[0][0];
        if (workers is not null && groups is not null)
        {
            throw new BadInputException("--workers and --groups cannot be used together; each group has its own number of workers.");
        }

        if (groups is not null && spec.Assembly is null && spec.Name != "channel")
        {
            throw new BadInputException("--groups needs the workload channel, or several methods of an assembly; in other workloads, all workers do the same.");
        }

        IReadOnlyList<WorkerGroup>? named = groups is null ? null : Groups(groups);
        if (named is not null && spec.Assembly is null && !ChannelWorkload.HasSides(named))
        {
            throw new BadInputException("--groups of channel must be producers:N,consumers:M.");
        }

        double? rate = Find(_rate)?.PerSecond(0.1, 10_000_000, "operations");
        OptionValue? most = Find(_maxInFlight);
        if (most is not null && rate is null)
        {
            throw new BadInputException("--max-inflight needs --rate.");
        }

        if (rate is not null && groups is not null)
        {
            throw new BadInputException("--rate cannot be used with --groups, because all workers must do the same.");
        }

        OptionValue counts = workers ?? new OptionValue("--workers", spec.Workers?.ToString(CultureInfo.InvariantCulture) ?? _defaultWorkers);
        return new RunSettings
        {
            Subjects = subjects,
            Workers = _isScale ? counts.WholeNumbers(1, WorkloadCatalog.MostWorkers) : [counts.WholeNumber(1, WorkloadCatalog.MostWorkers)],
            Groups = named,
            Run = new WorkerRunSpec
            {
                Workload = spec.Label,
                RatePerSecond = rate,
                MaxInFlight = most?.WholeNumber(1, 1_000_000),
                MinThreads = Find(_minThreads)?.WholeNumber(1, short.MaxValue),
                MostFailures = Find(_maxFailures)?.Share(0, 1) ?? 0,
                Duration = (Find(_duration) ?? new OptionValue("--duration", _defaultDuration))
                    .Time(TimeSpan.FromMilliseconds(10), TimeSpan.FromHours(1), "1s"),
                Rounds = RoundsOf(parsed) ?? _defaultRounds,
                DrainLimit = TimeoutOf(parsed, DefaultTimeout),
                Seed = Find(_seed)?.WholeNumber(0, int.MaxValue) ?? 1,
            },
        };
    }

    private static List<WorkerGroup> Groups(OptionValue given)
    {
        List<WorkerGroup> groups = [];
        foreach (string part in given.Text.Split(','))
        {
            string[] sides = part.Split(':');
            if (sides.Length != 2 || sides[0].Trim().Length == 0 || groups.Any(g => g.Name == sides[0].Trim())
                || !int.TryParse(sides[1], NumberStyles.None, CultureInfo.InvariantCulture, out int workers) || workers is < 1 or > WorkloadCatalog.MostWorkers)
            {
                throw given.Bad("different names, each with a number of workers, such as producers:1,consumers:7");
            }

            groups.Add(new WorkerGroup(sides[0].Trim(), workers));
        }

        return groups;
    }
}

/// <summary>The options that say what is measured: a built-in workload or a user's code, and the parameters that are set or varied.</summary>
internal sealed class SubjectOptions
{
    private readonly TextOption _grain = TextOption.Of("--grain", null, "TIME", "The amount of work in an operation: cpu 10us, io and delay 1ms");
    private readonly TextOption _collector = TextOption.Of("--gc", null, "MODE",
        "The garbage collector of the measuring processes: wks (workstation) or svr (server, with a fixed number of heaps). Default: the program's").Rare();
    private readonly TextOption _assembly =
        TextOption.Of("--assembly", null, "FILE", "An assembly with your own code; dependencies are loaded from its folder");
    private readonly TextOption _method = TextOption.Of("--method", null, "N.C.M,...",
        "Methods without parameters or with a CancellationToken, static or of a class that can be constructed, and classes that implement IWorkload");
    private readonly TextOption _filter =
        TextOption.Of("--filter", null, "PATTERN", "Instead of --method: all public methods and workloads whose full names match, such as '*Parse*'");
    private readonly Option<string[]> _param;

    public SubjectOptions(bool isOfPrograms = false)
    {
        string what = isOfPrograms ? "Replaces {NAME} in the commands by a value" : "Sets a parameter of the workload or of your class";
        _param = new("--param")
        {
            HelpName = "NAME=VALUE,...", Description = $"{what}. Several values are all measured; several --param give every combination",
        };

        // A workload class is not a method, so the option has a second name.
        _method.Aliases.Add("--class");
    }

    public void AddTo(Command command) => command.AddAll(All);

    /// <summary>The option that sets parameters.</summary>
    public Option Param => _param;

    /// <summary>The parameters that are set or varied.</summary>
    public ParameterSweep Sweep(ParseResult parsed) => new(parsed.GetValue(_param) ?? []);

    /// <summary>Whether the code of an assembly is measured.</summary>
    public bool HasAssembly(ParseResult parsed) => Find(_assembly, parsed) is not null;

    /// <summary>Whether there is any of these options.</summary>
    public bool HasAny(ParseResult parsed) => All.Any(o => parsed.GetResult(o) is { Implicit: false });

    /// <summary>The methods that <c>--filter</c> selects and that only one of two assemblies has; none without the option.</summary>
    public IReadOnlyList<string> InOneOnly(ParseResult parsed, string before, string after)
    {
        if (Find(_filter, parsed) is not { } filter)
        {
            return [];
        }

        IReadOnlyList<string> left = UserAssembly.Load(before).Matching(filter.Text);
        IReadOnlyList<string> right = UserAssembly.Load(after).Matching(filter.Text);
        return [.. left.Except(right), .. right.Except(left)];
    }

    /// <summary>Reads them.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="workload">A built-in workload; <see langword="null"/> when none is given.</param>
    /// <param name="built">An assembly that takes the place of <c>--assembly</c>; <see langword="null"/> for none.</param>
    /// <param name="other">Another build of the assembly, in which the methods of <c>--filter</c> must be too; <see langword="null"/> for none.</param>
    /// <param name="inGroups">Whether several methods run side by side in groups of workers, and not one after the other.</param>
    /// <param name="mayRepeat">Whether a method may be there twice: it is compared with itself.</param>
    /// <returns>What is measured: of each thing one for every combination of parameters.</returns>
    public IReadOnlyList<IReadOnlyList<WorkloadSpec>> Read(
        ParseResult parsed, string? workload, bool inGroups, string? built = null, string? other = null, bool mayRepeat = false)
    {
        (WorkloadSpec[] specs, UserAssembly? assembly) =
            Specs(parsed, workload, inGroups, built is null ? Find(_assembly, parsed) : new OptionValue("--project", built), other, mayRepeat && !inGroups);
        if (Find(_grain, parsed) is { } grain)
        {
            if (assembly is not null)
            {
                throw new BadInputException("--grain needs a built-in workload: cpu, io or delay.");
            }

            TimeSpan time = WorkloadCatalog.Grain(specs[0].Name, grain);
            specs = [.. specs.Select(s => s with { Grain = s.Grain ?? time })];
        }

        if (Find(_collector, parsed) is { } collector)
        {
            // The workload's own setting takes precedence.
            string mode = CollectorMode.Read(collector);
            specs = [.. specs.Select(s => s with { Collector = s.Collector ?? mode })];
        }

        ParameterSweep sweep = Sweep(parsed);
        WorkloadSpec[][] subjects = [.. specs.Select(s => sweep.Of(s).ToArray())];

        // Checked here, so that a wrong name is reported in one line before anything is measured.
        if (assembly is not null)
        {
            foreach (WorkloadSpec spec in subjects.SelectMany(static s => s))
            {
                if (WorkloadCatalog.Create(spec, assembly) is MethodWorkload && inGroups && spec.Methods.Count == 1)
                {
                    throw new BadInputException(
                        "--groups needs the workload channel, or several methods of an assembly; in other workloads, all workers do the same.");
                }
            }
        }

        return subjects;
    }

    private static OptionValue? Find(TextOption setting, ParseResult parsed) => setting.Find(parsed);

    private (WorkloadSpec[] Specs, UserAssembly? Assembly) Specs(
        ParseResult parsed, string? workload, bool inGroups, OptionValue? file, string? other, bool mayRepeat)
    {
        OptionValue? filter = Find(_filter, parsed);
        OptionValue? method = Find(_method, parsed);
        if (filter is not null && (file is null || method is not null))
        {
            throw new BadInputException("--filter is used with --assembly or --git, instead of --method: --assembly X.dll --filter '*Parse*'.");
        }

        if (file is null && method is null)
        {
            return workload is { Length: > 0 }
                ? ([WorkloadSpec.Parse(workload)], null)
                : throw new BadInputException($"WORKLOAD must be {WorkloadCatalog.Names}, or a method with --assembly and --method.");
        }

        if (file is null || (method is null && !File.Exists(file.Text)))
        {
            throw new BadInputException("--assembly and --method must be used together: --assembly X.dll --method Namespace.Class.Method.");
        }

        if (workload is not null)
        {
            throw new BadInputException("WORKLOAD cannot be used with --assembly, which has its own.");
        }

        UserAssembly assembly = UserAssembly.Load(file.Text);
        string[] names = filter is not null ? Filtered(assembly, filter, file, other)
            : method is null ? [Only(assembly, file)]
            : method.Text.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        if (names.Length == 0 || (!mayRepeat && names.Distinct().Count() != names.Length))
        {
            throw method!.Bad("different methods or classes separated by commas, each as Namespace.Class.Method or Namespace.Class");
        }

        IReadOnlyList<string> titles = UserWorkloads.ShortNames(names);
        string path = Path.GetFullPath(file.Text);
        return (inGroups
            ? [new WorkloadSpec { Name = titles[0], Assembly = path, Methods = names }]
            : [.. names.Select((n, i) => new WorkloadSpec { Name = titles[i], Assembly = path, Methods = [n] })], assembly);
    }

    private Option[] All => [_grain, _collector, _assembly, _method, _filter, _param];

    private static string[] Filtered(UserAssembly assembly, OptionValue filter, OptionValue file, string? other)
    {
        IReadOnlyList<string> names = assembly.Matching(filter.Text);
        if (other is not null)
        {
            names = [.. names.Intersect(UserAssembly.Load(other).Matching(filter.Text))];
        }

        return names.Count switch
        {
            0 => throw new BadInputException(
                $"--filter '{filter.Text}' matches nothing measurable in "
                    + $"'{Path.GetFileName(file.Text)}'{(other is null ? "" : " of both builds")}"
                    + $"{assembly.Nearest(filter.Text.Replace("*", "", StringComparison.Ordinal))}."),
            > ParameterSweep.MostCombinations =>
                throw new BadInputException($"--filter '{filter.Text}' matches {names.Count} methods; {ParameterSweep.MostCombinations} are measured at most."),
            _ => [.. names],
        };
    }

    private static string Only(UserAssembly assembly, OptionValue file) => assembly.Workloads is [var only]
        ? only
        : throw new BadInputException(
            $"--assembly needs --method Namespace.Class.Method, or --class with one that implements IWorkload: '{file.Text}' has "
                + $"{(assembly.Workloads.Count == 0 ? "no such class" : string.Join(", ", assembly.Workloads))}"
                + $"{(assembly.Workloads.Count == 0 ? assembly.Nearest("") : "")}.");
}

/// <summary>The checked settings that all commands over workloads share.</summary>
internal sealed record RunSettings
{
    /// <summary>What is measured: each thing with every combination of the varied parameters.</summary>
    public required IReadOnlyList<IReadOnlyList<WorkloadSpec>> Subjects { get; init; }

    /// <summary>The first of them, which is the only one unless several methods are given or parameters varied.</summary>
    public WorkloadSpec Workload => Subjects[0][0];

    /// <summary>All of them.</summary>
    public IReadOnlyList<WorkloadSpec> Workloads => [.. Subjects.SelectMany(static s => s)];

    /// <summary>The numbers of workers; one unless the command measures a scale.</summary>
    public required IReadOnlyList<int> Workers { get; init; }

    /// <summary>Named groups in place of a number of workers.</summary>
    public IReadOnlyList<WorkerGroup>? Groups { get; init; }

    /// <summary>How each arm is run, but for its name and its workers.</summary>
    public required WorkerRunSpec Run { get; init; }

    public int Rounds => Run.Rounds;

    /// <summary>Whether each arm makes one more round, under a profiler.</summary>
    public bool IsProfiled { get; init; }

    /// <summary>The order for a number of workers.</summary>
    public WorkerOrder Order(WorkloadSpec workload, int workers, int rounds) => new()
    {
        Workload = workload,
        Run = Run with { Workload = workload.Label, Groups = Groups ?? [new WorkerGroup(WorkerRunSpec.DefaultGroup, workers)], Rounds = rounds },
        IsProfiled = IsProfiled,
    };
}

/// <summary>The argument that names a workload.</summary>
internal static class WorkloadArgument
{
    /// <summary>The workloads, for the help.</summary>
    public static string Help =>
        "Workloads:\n" + string.Join('\n', WorkloadCatalog.Texts.Select(static w => $"  {w.Name,-14} {w.Text}"));

    public static Argument<string?> Create() => new("WORKLOAD")
    {
        Description = $"A built-in workload; absent with --assembly. {Help}",
        Arity = ArgumentArity.ZeroOrOne,
    };
}

/// <summary>What is measured of a program by default.</summary>
internal static class ProgramDefaults
{
    /// <summary>The default minimum number of rounds of a program.</summary>
    public const int LeastRounds = 10;

    /// <summary>The default maximum number of rounds of a program.</summary>
    public const int MostRounds = 1000;

    /// <summary>The default minimum time of all rounds of a program together.</summary>
    public static readonly TimeSpan LeastTime = TimeSpan.FromSeconds(3);

    /// <summary>These defaults, as a text.</summary>
    public static readonly string UsualRounds = FormattableString.Invariant(
        $"{LeastRounds} at least, and as many as fit into {LeastTime.TotalSeconds:0} s, {MostRounds:N0} at most");

    /// <summary>How long the end of a run is waited for by default.</summary>
    public const string UsualTimeout = "10min";
}
