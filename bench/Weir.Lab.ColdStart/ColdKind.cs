namespace Weir.Lab.ColdStart;

/// <summary>What an arm is among the others of its work.</summary>
internal enum ColdKind
{
    /// <summary>Weir's, with a goal.</summary>
    Ours,

    /// <summary>What the others are compared with, the first of its work.</summary>
    Baseline,

    /// <summary>Another way to do the same.</summary>
    Peer,
}
