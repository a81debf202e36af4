namespace Weir.Explore.Scheduling;

/// <summary>The context without values. Running in it undoes what the code inside sets.</summary>
internal static class Contexts
{
    public static ExecutionContext Default { get; } = Find();

    private static ExecutionContext Find()
    {
        ExecutionContext? context = null;
        Thread thread = new(() => context = ExecutionContext.Capture());
        thread.UnsafeStart();
        thread.Join();
        return context!;
    }
}
