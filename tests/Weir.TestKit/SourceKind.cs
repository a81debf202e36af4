namespace Weir.TestKit;

/// <summary>The ways in which items come to an operator.</summary>
public enum SourceKind
{
    /// <summary>An array.</summary>
    Array,

    /// <summary>A List.</summary>
    List,

    /// <summary>Enumerable.Range, a collection of the platform without an index.</summary>
    Range,

    /// <summary>A collection with a count, which records its reads.</summary>
    Collection,

    /// <summary>An iterator.</summary>
    Lazy,

    /// <summary>An asynchronous iterator that always answers at once.</summary>
    AsyncImmediate,

    /// <summary>An asynchronous iterator that suspends before every item.</summary>
    AsyncSuspending,

    /// <summary>The reader of a channel.</summary>
    Channel,
}
