namespace Weir.Lab.Suites.Workloads;

/// <summary>A row of the catalogue of workloads.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Text">What an operation of it does, or what is done for an item.</param>
/// <param name="Create">Makes it.</param>
internal sealed record BuiltIn(string Name, string Text, Func<BuiltInValues, ItemWorkload> Create)
{
    /// <summary>How much work an operation has; <see langword="null"/> for one that has no grain.</summary>
    public BuiltInGrain? Grain { get; init; }

    /// <summary>What else can be set of it; <see langword="null"/> for nothing.</summary>
    public BuiltInParameter? Parameter { get; init; }

    /// <summary>Whether an operation waits without its thread, so that many of them should be under way at once.</summary>
    public bool Waits { get; init; }

    /// <summary>Whether it computes for a given time, so that all processes have to share a calibration.</summary>
    public bool Computes { get; init; }

    /// <summary>About how long an operation without a grain takes; zero if half a million take a negligible time.</summary>
    public TimeSpan Lasts { get; init; }

    /// <summary>The names of its parameters.</summary>
    public IReadOnlyList<string> Parameters =>
        [.. Grain is null ? Array.Empty<string>() : ["grain"], .. Parameter is null ? Array.Empty<string>() : [Parameter.Name], "gc"];

    /// <summary>About how long an operation takes.</summary>
    public TimeSpan TimeOf(TimeSpan grain) => Grain is null ? Lasts : grain * Grain.PerOperation;

    /// <summary>The workload as it is when nothing is set.</summary>
    public ItemWorkload CreateUsual() => Create(new BuiltInValues(Grain?.Usual ?? TimeSpan.Zero, Parameter?.Usual ?? 0, null));
}

/// <summary>What is set of a workload.</summary>
/// <param name="Grain">The grain.</param>
/// <param name="Number">The parameter.</param>
/// <param name="StepsPerSecond">How fast the machine computes; <see langword="null"/> for what the workload measures itself.</param>
internal sealed record BuiltInValues(TimeSpan Grain, int Number, double? StepsPerSecond);

/// <summary>A length of time that is the size of an operation.</summary>
/// <param name="Usual">What it is when it is not set.</param>
/// <param name="Least">The shortest.</param>
/// <param name="Most">The longest.</param>
internal sealed record BuiltInGrain(TimeSpan Usual, TimeSpan Least, TimeSpan Most)
{
    /// <summary>How many of it an operation takes on average.</summary>
    public double PerOperation { get; init; } = 1;
}

/// <summary>A whole number that can be set of a workload.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Usual">What it is when it is not set.</param>
/// <param name="Least">The least.</param>
/// <param name="Most">The greatest.</param>
/// <param name="IsBytes">Whether it is a number of bytes.</param>
internal sealed record BuiltInParameter(string Name, int Usual, int Least, int Most, bool IsBytes);
