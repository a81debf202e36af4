namespace Weir.Lab.Suites.Workloads;

/// <summary>What kind of sequence the items come from.</summary>
public enum SourceKind
{
    /// <summary>An array.</summary>
    Array,

    /// <summary>A list.</summary>
    List,

    /// <summary>The platform's range.</summary>
    Range,

    /// <summary>An iterator that knows no count.</summary>
    Lazy,

    /// <summary>An asynchronous sequence over a range; only streams read it.</summary>
    Async,
}
