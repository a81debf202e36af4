namespace Weir.Cli.Tests.Commands.Run;

/// <summary>Methods of all the shapes that can be measured, and some that cannot.</summary>
internal static class SampleMethods
{
    private static int _calls;

    public static void Nothing() => Interlocked.Increment(ref _calls);

    public static int Number() => Interlocked.Increment(ref _calls);

    public static async Task TaskAsync() => await Task.Yield();

    public static async Task<int> TaskOfAsync()
    {
        await Task.Yield();
        return 1;
    }

    public static ValueTask ValueTaskAsync() => ValueTask.CompletedTask;

    public static ValueTask<int> ValueTaskOfAsync() => new(1);

    public static int Stoppable(CancellationToken stop) => stop.CanBeCanceled ? 1 : throw new InvalidOperationException("The token is not the worker's.");

    public static void Throwing() => throw new InvalidOperationException("It is broken.");

    public static void Overloaded()
    {
    }

    public static void Overloaded(CancellationToken stop) => stop.ThrowIfCancellationRequested();

    public static int WithArgument(int number) => number;
}
