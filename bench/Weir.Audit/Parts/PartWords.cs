namespace Weir.Audit.Parts;

/// <summary>The lines that a participant reads after its order. The end of its input asks it to stop.</summary>
internal sealed class PartWords : IDisposable
{
    private const string Goal = "goal ";

    private readonly CancellationTokenSource _stop = new();
    private TaskCompletionSource<long> _goal = New(0);

    private PartWords()
    {
    }

    /// <summary>Cancelled when the participant has to stop.</summary>
    public CancellationToken Stop => _stop.Token;

    /// <summary>The line that asks the publisher to publish up to a change.</summary>
    public static string GoalOf(long number) => string.Create(CultureInfo.InvariantCulture, $"{Goal}{number}");

    /// <summary>Reads lines until the end.</summary>
    public static PartWords Read(TextReader input)
    {
        PartWords words = new();
        Thread reader = new(() => words.ReadAll(input)) { IsBackground = true, Name = "words" };
        reader.Start();
        return words;
    }

    /// <summary>Waits until a change is asked for.</summary>
    /// <returns>The last one that is asked for.</returns>
    public async ValueTask<long> WaitForAsync(long number)
    {
        while (true)
        {
            TaskCompletionSource<long> current = Volatile.Read(ref _goal);
            long goal = await current.Task.WaitAsync(Stop);
            if (goal >= number)
            {
                return goal;
            }

            TaskCompletionSource<long> next = new(TaskCreationOptions.RunContinuationsAsynchronously);
            Interlocked.CompareExchange(ref _goal, next, current);
        }
    }

    public void Dispose() => _stop.Dispose();

    private static TaskCompletionSource<long> New(long goal)
    {
        TaskCompletionSource<long> source = new();
        source.SetResult(goal);
        return source;
    }

    private void ReadAll(TextReader input)
    {
        while (input.ReadLine() is { } line)
        {
            if (line.StartsWith(Goal, StringComparison.Ordinal))
            {
                Set(long.Parse(line[Goal.Length..], CultureInfo.InvariantCulture));
            }
        }

        try
        {
            _stop.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // It has ended already.
        }
    }

    private void Set(long goal)
    {
        // Whoever waits for the next goal gets it; later ones find it.
        TaskCompletionSource<long> before = Interlocked.Exchange(ref _goal, New(goal));
        before.TrySetResult(goal);
    }
}
