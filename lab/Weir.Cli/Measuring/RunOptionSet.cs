using System.CommandLine;
using System.Globalization;
using Weir.Cli.Hosting;
using Weir.Cli.Options;
using Weir.Cli.Workloads;
using Weir.Lab.Workers;

namespace Weir.Cli.Measuring;

/// <summary>The options of the commands over workloads: their names, ranges and defaults, and how they go together.</summary>
internal sealed class RunOptionSet
{
    private readonly bool _isScale;
    private readonly int _defaultRounds;
    private readonly string _defaultDuration;
    private readonly string _defaultWorkers;
    private readonly TextOption _workers;
    private readonly TextOption _groups = TextOption.Of("--groups", null, "NAME:N,...", "Named groups in place of --workers: producers:1,consumers:7 for channel, method names for an assembly");
    private readonly TextOption _rate = TextOption.Of("--rate", null, "N/s", "Start so many operations per second, whether earlier ones have ended or not; latency then also counts from the intended start");
    private readonly TextOption _maxInFlight = TextOption.Of("--max-inflight", null, "N", "With --rate, drop starts beyond so many under way");
    private readonly TextOption _minThreads = TextOption.Of("--min-threads", null, "N", "Threads that the pool makes without waiting. Default: its own choice");
    private readonly TextOption _duration;
    private readonly TextOption _rounds;
    private readonly TextOption _grain = TextOption.Of("--grain", null, "TIME", "How much work an operation has: cpu 10us, io and delay 1ms");
    private readonly TextOption _seed = TextOption.Of("--seed", null, "N", "The start of all random numbers. Default 1");
    private readonly TextOption _timeout = TextOption.Of("--timeout", null, "TIME", "Give up when an operation has not ended after so long. Default 20s");
    private readonly TextOption _collector = TextOption.Of("--gc", null, "MODE", "The garbage collector of the measuring processes: wks (workstation) or svr (server, with a fixed number of heaps). Default: that of the program");
    private readonly TextOption _assembly = TextOption.Of("--assembly", null, "FILE", "An assembly with the methods to measure");
    private readonly TextOption _method = TextOption.Of("--method", null, "N.C.M,...", "Static methods of it, without parameters or with a CancellationToken; several for --groups");

    public RunOptionSet(bool isScale, int rounds, string duration)
    {
        _isScale = isScale;
        _defaultRounds = rounds;
        _defaultDuration = duration;
        _defaultWorkers = isScale ? "1,2,4,8,16,32" : Environment.ProcessorCount.ToString(CultureInfo.InvariantCulture);
        _workers = TextOption.Of("--workers", null, isScale ? "N,N,..." : "N", $"How many workers. Default {(isScale ? _defaultWorkers : "the processors")}");
        _duration = TextOption.Of("--duration", null, "TIME", $"The length of a round. Default {duration}");
        _rounds = TextOption.Of("--rounds", null, "N", $"How many rounds. Default {rounds}");
    }

    public void AddTo(Command command)
    {
        TextOption[] options = _isScale
            ? [_workers, _duration, _rounds, _timeout, _grain, _minThreads, _collector, _seed, _assembly, _method]
            : [_workers, _groups, _rate, _maxInFlight, _duration, _rounds, _timeout, _grain, _minThreads, _collector, _seed, _assembly, _method];
        foreach (TextOption option in options)
        {
            command.Add(option.Flag);
        }
    }

    /// <exception cref="BadInputException">A value cannot be used.</exception>
    public RunSettings Read(ParseResult parsed, string? workload)
    {
        OptionValue? Find(TextOption option) => option.Find(parsed, static _ => null);

        WorkloadSpec spec = Spec(workload, Find(_assembly), Find(_method));
        if (Find(_grain) is { } grain)
        {
            spec = spec.Assembly is null
                ? spec with { Grain = WorkloadCatalog.Grain(spec.Name, grain) }
                : throw new BadInputException("--grain needs a built-in workload: cpu, io or delay.");
        }

        if (Find(_collector) is { } collector)
        {
            // What a workload says itself wins.
            spec = spec with { Collector = spec.Collector ?? CollectorMode.Read(collector) };
        }

        OptionValue? workers = Find(_workers);
        OptionValue? groups = Find(_groups);
        if (workers is not null && groups is not null)
        {
            throw new BadInputException("--workers and --groups cannot be used together; the groups have their own numbers.");
        }

        if (groups is not null && spec.Name != "channel" && spec.Methods.Count < 2)
        {
            throw new BadInputException("--groups needs the workload channel, or several methods of an assembly; all workers of the others do the same.");
        }

        if (groups is null && spec.Methods.Count > 1)
        {
            throw new BadInputException($"--method has several methods, so --groups must say how many workers run each, as in {string.Join(',', spec.Methods.Select(static m => MethodWorkload.GroupOf(m) + ":1"))}.");
        }

        double? rate = Rate(Find(_rate));
        OptionValue? most = Find(_maxInFlight);
        if (most is not null && rate is null)
        {
            throw new BadInputException("--max-inflight needs --rate.");
        }

        if (rate is not null && groups is not null)
        {
            throw new BadInputException("--rate needs workers that all do the same, so it cannot be used with --groups.");
        }

        OptionValue counts = workers ?? new OptionValue("--workers", spec.Workers?.ToString(CultureInfo.InvariantCulture) ?? _defaultWorkers);
        return new RunSettings
        {
            Workload = spec,
            Workers = _isScale ? counts.WholeNumbers(1, WorkloadCatalog.MostWorkers) : [counts.WholeNumber(1, WorkloadCatalog.MostWorkers)],
            Groups = groups is null ? null : Groups(groups),
            RatePerSecond = rate,
            MaxInFlight = most?.WholeNumber(1, 1_000_000),
            MinThreads = Find(_minThreads)?.WholeNumber(1, short.MaxValue),
            Duration = (Find(_duration) ?? new OptionValue("--duration", _defaultDuration)).Time(TimeSpan.FromMilliseconds(10), TimeSpan.FromHours(1), "1s"),
            Rounds = Find(_rounds)?.WholeNumber(1, 10_000) ?? _defaultRounds,
            Timeout = (Find(_timeout) ?? new OptionValue("--timeout", "20s")).Time(TimeSpan.FromMilliseconds(100), TimeSpan.FromHours(1), "20s"),
            Seed = Find(_seed)?.WholeNumber(0, int.MaxValue) ?? 1,
        };
    }

    private static WorkloadSpec Spec(string? workload, OptionValue? assembly, OptionValue? method)
    {
        if (assembly is null && method is null)
        {
            return workload is { Length: > 0 }
                ? WorkloadSpec.Parse(workload)
                : throw new BadInputException($"WORKLOAD must be {WorkloadCatalog.Names}, or a method with --assembly and --method.");
        }

        if (assembly is null || method is null)
        {
            throw new BadInputException("--assembly and --method go together: --assembly X.dll --method Namespace.Class.Method.");
        }

        if (workload is not null)
        {
            throw new BadInputException("WORKLOAD cannot be used with --assembly, which brings its own.");
        }

        string[] methods = method.Text.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        WorkloadSpec spec = new()
        {
            Name = methods.Length > 0 ? MethodWorkload.GroupOf(methods[0]) : throw method.Bad("a static method as Namespace.Class.Method"),
            Assembly = Path.GetFullPath(assembly.Text),
            Methods = methods,
        };

        // Here, so that a wrong name is one line before anything is measured.
        _ = new MethodWorkload(spec);
        return spec;
    }

    private static double? Rate(OptionValue? given)
    {
        if (given is null)
        {
            return null;
        }

        string text = given.Text.EndsWith("/s", StringComparison.OrdinalIgnoreCase) ? given.Text[..^2] : given.Text;
        return double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double rate) && rate is >= 0.1 and <= 10_000_000
            ? rate
            : throw given.Bad("a number of operations per second from 0.1 to 10,000,000 such as 1000/s");
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
                throw given.Bad("different names with a number of workers each, such as producers:1,consumers:7");
            }

            groups.Add(new WorkerGroup(sides[0].Trim(), workers));
        }

        return groups;
    }
}
