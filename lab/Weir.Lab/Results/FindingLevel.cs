namespace Weir.Lab.Results;

/// <summary>How grave a <see cref="Finding"/> is.</summary>
public enum FindingLevel
{
    /// <summary>Explains a figure.</summary>
    Note,

    /// <summary>The figures hold, but are less sure than they look.</summary>
    Doubt,

    /// <summary>The figures mean nothing.</summary>
    Invalid,
}
