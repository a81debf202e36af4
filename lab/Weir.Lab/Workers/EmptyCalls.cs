namespace Weir.Lab.Workers;

/// <summary>Static methods that do nothing: a delegate of one is called in another way than that of an instance's method, which a lambda is too.</summary>
internal static class EmptyCalls
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Nothing()
    {
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Nothing<T>() => default!;
}
