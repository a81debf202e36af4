namespace Weir.Cli.Tests.Commands.Run;

/// <summary>Methods that do what a measuring process must bear.</summary>
internal static class AwkwardMethods
{
    private static readonly ManualResetEventSlim Never = new();
    private static int _calls;

    /// <summary>Prints what looks like an answer of the measuring process.</summary>
    public static void Printing()
    {
        int call = Interlocked.Increment(ref _calls);
        Console.WriteLine(call == 1 ? "It prints on the output." : "{\"Round\":null}");
        Console.Error.WriteLine("rate 1");
        Never.Wait(1);
    }

    /// <summary>Reads what belongs to nobody.</summary>
    public static int Reading() => Console.In.Read() < 0 ? 1 : throw new InvalidOperationException("There was input.");

    public static void Hanging() => Never.Wait();

    public static Task HangingAsync() => new TaskCompletionSource().Task;

    /// <summary>Ends well so often that the warm-up is over.</summary>
    public static void HangingLate()
    {
        Never.Wait(1);
        if (Interlocked.Increment(ref _calls) == 300)
        {
            Never.Wait();
        }
    }

    public static void Leaving() => Environment.Exit(0);

    public static void LeavingAThread()
    {
        if (Interlocked.Increment(ref _calls) == 1)
        {
            new Thread(static () => Never.Wait()).Start();
        }
    }
}
