namespace Weir.Tests.Leaks;

/// <summary>How a run ends.</summary>
public enum Ending
{
    /// <summary>All items succeed.</summary>
    Succeeds,

    /// <summary>An item throws.</summary>
    Fails,

    /// <summary>An item cancels the caller's token.</summary>
    IsCancelled,

    /// <summary>An item passes its time limit, and ends then.</summary>
    TimesOut,

    /// <summary>An item passes its time limit, and its call never ends.</summary>
    TimesOutForever,

    /// <summary>The consumer of a stream leaves after the first result.</summary>
    IsLeft,
}
