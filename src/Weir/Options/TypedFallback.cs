namespace Weir;

/// <summary>A <see cref="Fallback"/> for results of one type.</summary>
internal abstract class TypedFallback<TResult> : Fallback
{
    internal override Type ResultType => typeof(TResult);

    /// <summary>The result for an item that failed.</summary>
    /// <param name="item">What has the item, if the fallback looks at it.</param>
    /// <param name="index">Its index.</param>
    /// <param name="attempt">The number of its last attempt.</param>
    /// <param name="error">Its exception.</param>
    public abstract ValueTask<TResult> GetAsync(object? item, long index, int attempt, Exception error);
}
