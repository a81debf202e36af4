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
    public async Task GoneAsync()
    {
        try
        {
            await Guard.UntilAsync(
                () =>
                {
                    Leak.Collect();
                    return All(static o => !o.IsAlive);
                },
                "the collection");
        }
        catch (TimeoutException)
        {
            throw new TimeoutException($"Something holds of {_all.Count} objects: {Left()}");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool All(Func<WeakReference, bool> isSo) => _all.All(held => isSo(held.Reference));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private string Left() => string.Join(
        "; ",
        _all.Where(static held => held.Reference.IsAlive).GroupBy(static held => held.What).Select(static held => $"{held.Count()} x {held.Key}").Take(40));
}
