namespace Weir.Core.Sinks;

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

    /// <summary>Disposes of a result. Never throws.</summary>
    public static async Task DropAsync(object result)
    {
        try
        {
            if (result is IAsyncDisposable disposable)
            {
                await disposable.DisposeAsync().ConfigureAwait(false);
            }
            else
            {
                ((IDisposable)result).Dispose();
            }
        }
        catch (Exception)
        {
            // Nobody hears of it: the item has its outcome, or the run its end.
        }
    }

    private static bool IsSame<TItem>(TItem? item, object result) => !typeof(TItem).IsValueType && ReferenceEquals(item, result);
}
