namespace Weir.Core;

/// <summary>Disposes of results that nobody will ever have.</summary>
internal static class DiscardedResult
{
    /// <summary>Whether a value of a type may be disposable. A task is never disposed of: it holds nothing, and may not have ended.</summary>
    public static bool MayBeDisposable(Type type)
    {
        Type own = Nullable.GetUnderlyingType(type) ?? type;
        return (!own.IsValueType && !own.IsSealed) || typeof(IAsyncDisposable).IsAssignableFrom(own) || typeof(IDisposable).IsAssignableFrom(own);
    }

    /// <summary>The result if it can be disposed of, otherwise null.</summary>
    public static object? DisposableOf(object? result) => result is (IAsyncDisposable or IDisposable) and not Task ? result : null;

    /// <summary>
    /// Disposes of the result of a call whose item has its outcome already. Nobody waits for it, so it runs on the pool, and an exception from it is lost.
    /// </summary>
    /// <param name="item">The item. If the call returned the item itself, it is the caller's, who still has it.</param>
    /// <param name="result">The result.</param>
    public static void Drop<TItem, TResult>(TItem? item, TResult result)
    {
        if (DiscardedResult<TResult>.MayBeDisposable && DisposableOf(result) is { } disposable && !IsSame(item, disposable))
        {
            ThreadPool.UnsafeQueueUserWorkItem(static result => _ = DropAsync(result), disposable, preferLocal: false);
        }
    }

    /// <summary>Disposes of a result, if it is disposable: nobody else will ever have it.</summary>
    public static ValueTask DisposeAsync(object? result)
    {
        switch (DisposableOf(result))
        {
            case IAsyncDisposable disposable:
                return disposable.DisposeAsync();
            case IDisposable disposable:
                disposable.Dispose();
                return default;
            default:
                return default;
        }
    }

    /// <summary>Disposes of a result where nobody hears of an exception: the item has its outcome, or the run its end. Never throws.</summary>
    public static async Task DropAsync(object? result)
    {
        try
        {
            await DisposeAsync(result).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // See above.
        }
    }

    private static bool IsSame<TItem>(TItem? item, object result) => !typeof(TItem).IsValueType && ReferenceEquals(item, result);
}

/// <summary>What is decided once about results of a type.</summary>
internal static class DiscardedResult<TResult>
{
    /// <summary>Whether one may be disposable. If not, nothing is ever looked at.</summary>
    public static readonly bool MayBeDisposable = DiscardedResult.MayBeDisposable(typeof(TResult));
}
