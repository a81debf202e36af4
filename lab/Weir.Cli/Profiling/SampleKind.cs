namespace Weir.Cli.Profiling;

/// <summary>What a thread did when it was sampled, as far as its stack tells. The kinds are in the order in which processor time is given to them.</summary>
internal enum SampleKind
{
    /// <summary>It was in compiled code.</summary>
    Managed,

    /// <summary>It was in a native library or in the system, where it may have worked or waited.</summary>
    Native,

    /// <summary>It was about to wait, or looked again and again whether it has to.</summary>
    Spinning,

    Waiting,
}
