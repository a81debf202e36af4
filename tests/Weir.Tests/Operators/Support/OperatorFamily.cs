namespace Weir.Tests.Operators.Support;

/// <summary>The operators, each seen as something that calls a selector for each number of a source and gives the results.</summary>
public enum OperatorFamily
{
    /// <summary>SelectParallelAsync.</summary>
    List,

    /// <summary>SelectParallelStreamAsync in completion order.</summary>
    Stream,

    /// <summary>SelectParallelStreamAsync in source order.</summary>
    OrderedStream,

    /// <summary>ForEachParallelAsync.</summary>
    ForEach,

    /// <summary>BatchParallelAsync with batches of one.</summary>
    BatchList,

    /// <summary>BatchParallelStreamAsync with batches of one.</summary>
    BatchStream,

    /// <summary>SelectParallelOutcomesAsync, the results of the items that succeeded.</summary>
    Outcomes,
}
