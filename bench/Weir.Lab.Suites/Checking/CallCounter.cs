namespace Weir.Lab.Suites.Checking;

/// <summary>Counts how often an arm calls the delegate it is measured with. Only the check uses it; a measured delegate is never wrapped.</summary>
internal sealed class CallCounter
{
    private long _calls;

    public long Calls => Interlocked.Read(ref _calls);

    public void Reset() => Interlocked.Exchange(ref _calls, 0);

    /// <summary>Gives <paramref name="call"/> itself without a counter, and a counting wrapper with one.</summary>
    public static Action<T> Around<T>(CallCounter? counter, Action<T> call) =>
        counter is null
            ? call
            : item =>
            {
                Interlocked.Increment(ref counter._calls);
                call(item);
            };

    /// <inheritdoc cref="Around{T}(CallCounter, Action{T})"/>
    public static Func<T, TResult> Around<T, TResult>(CallCounter? counter, Func<T, TResult> call) =>
        counter is null
            ? call
            : item =>
            {
                Interlocked.Increment(ref counter._calls);
                return call(item);
            };

    /// <inheritdoc cref="Around{T}(CallCounter, Action{T})"/>
    public static Func<TItem, CancellationToken, TResult> Around<TItem, TResult>(CallCounter? counter, Func<TItem, CancellationToken, TResult> call) =>
        counter is null
            ? call
            : (item, token) =>
            {
                Interlocked.Increment(ref counter._calls);
                return call(item, token);
            };
}
