using System.Globalization;

namespace Weir.Runtimes;

/// <summary>One decision of an <see cref="AutoRuntime"/> in one call: the time, the change, and the measured reason. Immutable.</summary>
public sealed record AutoDecision
{
    /// <summary>The time since the start of the call, by the system's clock.</summary>
    public required TimeSpan At { get; init; }

    /// <summary>How many items of the call had ended.</summary>
    public required long Items { get; init; }

    /// <summary>How items ran before.</summary>
    public required AutoMode From { get; init; }

    /// <summary>How items run from then on; the same as <see cref="From"/> if only a budget changed.</summary>
    public required AutoMode To { get; init; }

    /// <summary>How many threads the call may keep busy with synchronous work from then on.</summary>
    public required int Threads { get; init; }

    /// <summary>How many of its items may be in flight from then on.</summary>
    public required int InFlight { get; init; }

    /// <summary>The reason, with the measured figures. The text is for people, and its wording may change.</summary>
    public required string Reason { get; init; }

    /// <inheritdoc/>
    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{At.TotalMilliseconds:0.00} ms, {Items:#,0} items: {Move}, threads {Threads:#,0}, in flight {InFlight:#,0}: {Reason}");

    private string Move => From == To ? Word(To) : $"{Word(From)} -> {Word(To)}";

    private static string Word(AutoMode mode) => mode.ToString().ToLowerInvariant();
}
