namespace Weir.Dataflow.Waiters;

internal static class Completed
{
    public static readonly Task<bool> True = Task.FromResult(true);
    public static readonly Task<bool> False = Task.FromResult(false);
}
