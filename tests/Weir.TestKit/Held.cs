using System.Collections.Concurrent;
using System.Runtime.CompilerServices;

namespace Weir.TestKit;

/// <summary>Objects that nothing may hold any more when a test is over, by name.</summary>
public sealed class Held
{
    private readonly ConcurrentQueue<(string What, WeakReference Reference)> _all = [];

    /// <summary>How many there are.</summary>
    public int Count => _all.Count;

    /// <summary>Remembers an object without holding it.</summary>
    public T Add<T>(string what, T held)
        where T : class
    {
        _all.Enqueue((what, new WeakReference(held)));
        return held;
    }

    /// <summary>Waits until the garbage collector has taken all of them; fails with the names of those that stay.</summary>
    /// <param name="except">The name of those that may stay, or null.</param>
    public async Task GoneAsync(string? except = null)
    {
        try
        {
            await Guard.UntilAsync(
                () =>
                {
                    Leak.Collect();
                    return AreGone(except);
                },
                "the collection");
        }
        catch (TimeoutException)
        {
            throw new TimeoutException($"Something holds of {_all.Count} objects: {Left()}");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool AreGone(string? except) => _all.All(held => held.What == except || !held.Reference.IsAlive);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private string Left() => string.Join(
        "; ",
        _all.Where(static held => held.Reference.IsAlive).GroupBy(static held => held.What).Select(static held => $"{held.Count()} x {held.Key}").Take(40));
}
