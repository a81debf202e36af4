namespace Weir.Lab.Results;

/// <summary>What a <see cref="Finding"/> is about.</summary>
public enum FindingKind
{
    /// <summary>Anything else.</summary>
    Other,

    /// <summary>The machine and who else was at work on it.</summary>
    Machine,

    /// <summary>Rounds that were left out or are wrong.</summary>
    Rounds,

    /// <summary>What set the limit: processors or device.</summary>
    Bound,

    /// <summary>How the rate follows the number of workers.</summary>
    Scaling,

    /// <summary>How two results that are compared differ, beside their rates.</summary>
    Difference,
}
