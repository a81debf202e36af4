using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>
/// Supplies a result for an item that failed. Create it with <see cref="Of{TResult}(Func{int, Exception, TResult})"/>, for operators with results of that type,
/// or with <see cref="Of{TItem, TResult}(Func{ItemAttempt{TItem}, TResult})"/>, for operators over such items too.
/// </summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
public abstract class Fallback
{
    private protected Fallback()
    {
    }

    /// <summary>The type of the results, for messages.</summary>
    internal abstract Type ResultType { get; }

    /// <summary>The type of the items; null if the fallback does not look at them.</summary>
    internal abstract Type? ItemType { get; }

    /// <summary>Creates a synchronous fallback.</summary>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="result">
    /// Returns the result for an item's index and exception. An exception from it is the item's failure. Called from several threads at once.
    /// </param>
    /// <returns>The fallback.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="result"/> is <see langword="null"/>.</exception>
    public static Fallback Of<TResult>(Func<int, Exception, TResult> result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return new IndexFallback<TResult>((index, error) => new ValueTask<TResult>(result(index, error)));
    }

    /// <summary>Creates a synchronous fallback that gets the item.</summary>
    /// <typeparam name="TItem">The type of the operator's items.</typeparam>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="result">
    /// Returns the result for an item, its index, its last attempt and the exception. An exception from it is the item's failure. Called from several threads
    /// at once.
    /// </param>
    /// <returns>The fallback. With it, the run remembers its items while they are under way, as with <see cref="ParallelRunOptions.Hooks"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="result"/> is <see langword="null"/>.</exception>
    public static Fallback Of<TItem, TResult>(Func<ItemAttempt<TItem>, TResult> result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return new ItemFallback<TItem, TResult>(attempt => new ValueTask<TResult>(result(attempt)));
    }

    /// <summary>Creates an asynchronous fallback that gets the item.</summary>
    /// <typeparam name="TItem">The type of the operator's items.</typeparam>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="result">
    /// Returns the result for an item, its index, its last attempt and the exception. An exception from it is the item's failure. Called from several threads
    /// at once.
    /// </param>
    /// <returns>The fallback. With it, the run remembers its items while they are under way, as with <see cref="ParallelRunOptions.Hooks"/>.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="result"/> is <see langword="null"/>.</exception>
    public static Fallback OfAsync<TItem, TResult>(Func<ItemAttempt<TItem>, ValueTask<TResult>> result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return new ItemFallback<TItem, TResult>(result);
    }

    /// <summary>Creates an asynchronous fallback.</summary>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="result">
    /// Returns the result for an item's index and exception. An exception from it is the item's failure. Called from several threads at once.
    /// </param>
    /// <returns>The fallback.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="result"/> is <see langword="null"/>.</exception>
    public static Fallback OfAsync<TResult>(Func<int, Exception, ValueTask<TResult>> result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return new IndexFallback<TResult>(result);
    }

    /// <summary>Refuses a fallback of another type of items or results.</summary>
    internal static void Check<TItem, TResult>(Fallback fallback)
    {
        For<TResult>(fallback);
        if (fallback.ItemType is { } items && items != typeof(TItem))
        {
            throw new ArgumentException(
                $"OnFallback is about items of type {items.Name}, but the items here are of type {typeof(TItem).Name}.",
                nameof(ParallelRunOptions.OnFallback));
        }
    }

    /// <summary>The fallback for results of a given type.</summary>
    /// <exception cref="ArgumentException">The fallback returns results of another type.</exception>
    internal static TypedFallback<TResult> For<TResult>(Fallback fallback) => fallback as TypedFallback<TResult> ?? throw new ArgumentException(
        $"OnFallback gives a {fallback.ResultType.Name}, but the results of this operator are of type {typeof(TResult).Name}.",
        nameof(ParallelRunOptions.OnFallback));

    /// <exception cref="ArgumentException">A fallback is set, but there are no results.</exception>
    internal static void ThrowIfSet(Fallback? fallback, string what)
    {
        if (fallback is not null)
        {
            throw new ArgumentException($"OnFallback must be null for {what}, which has no results.", nameof(ParallelRunOptions.OnFallback));
        }
    }
}

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

/// <summary>A fallback that gets the item's index.</summary>
internal sealed class IndexFallback<TResult>(Func<int, Exception, ValueTask<TResult>> result) : TypedFallback<TResult>
{
    internal override Type? ItemType => null;

    public override ValueTask<TResult> GetAsync(object? item, long index, int attempt, Exception error) => result(Indices.ToInt(index), error);
}

/// <summary>A fallback that gets the item.</summary>
internal sealed class ItemFallback<TItem, TResult>(Func<ItemAttempt<TItem>, ValueTask<TResult>> result) : TypedFallback<TResult>
{
    internal override Type? ItemType => typeof(TItem);

    public override ValueTask<TResult> GetAsync(object? item, long index, int attempt, Exception error) =>
        result(new(((IWithItem<TItem>)item!).Item, index, attempt, error));
}
