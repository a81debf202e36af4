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
        _workers = TextOption.Of("--workers", null, isScale ? "N,N,..." : "N", $"How many workers. Default {(isScale ? _defaultWorkers : "the processors")}");
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
