namespace Weir.Core.Dispatch;

/// <summary>Objects of one type that later runs use again. What is kept stays for good, so it is few and small.</summary>
internal static class Spare<T>
    where T : class
{
    // So many that runs that are under way at the same time find one each.
    private static readonly T?[] Places = new T?[Math.Clamp(2 * Environment.ProcessorCount, 4, 32)];

    /// <summary>Gets an object that nobody has, or null if there is none.</summary>
    public static T? Take()
    {
        T?[] places = Places;
        int start = Thread.GetCurrentProcessorId();
        for (int i = 0; i < places.Length; i++)
        {
            ref T? place = ref places[(start + i) % places.Length];
            if (Volatile.Read(ref place) is not null && Interlocked.Exchange(ref place, null) is { } spare)
            {
                return spare;
            }
        }

        return null;
    }

    /// <summary>Keeps an object that nobody has any more. If there are enough, it is left to the collector.</summary>
    public static void GiveBack(T spare)
    {
        T?[] places = Places;
        int start = Thread.GetCurrentProcessorId();
        for (int i = 0; i < places.Length; i++)
        {
            ref T? place = ref places[(start + i) % places.Length];
            if (Volatile.Read(ref place) is null && Interlocked.CompareExchange(ref place, spare, null) is null)
            {
                return;
            }
        }
    }
}
