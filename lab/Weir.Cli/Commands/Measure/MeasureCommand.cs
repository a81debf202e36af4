using Weir.Cli.Commands.Hash;

namespace Weir.Cli.Commands.Measure;

/// <summary>The command of a measuring process. It reads its order from a pipe, and writes one line to it for each round. Not for users.</summary>
internal static class MeasureCommand
{
    private static readonly TimeSpan ConnectPatience = TimeSpan.FromSeconds(10);
    private static readonly Lock AnswersLock = new();

    /// <summary>Measures.</summary>
    /// <param name="kind">What the order is for.</param>
    /// <param name="name">The name of the pipe.</param>
    /// <param name="host">What stops it.</param>
    /// <exception cref="BadInputException">Nobody gives an order.</exception>
    public static async Task<int> RunAsync(string kind, string name, WeirHost host)
    {
        await using NamedPipeClientStream pipe = new(".", name, PipeDirection.InOut, PipeOptions.Asynchronous | PipeOptions.CurrentUserOnly);
        try
        {
            await pipe.ConnectAsync(ConnectPatience, host.Stop);
        }
        catch (Exception e) when (e is TimeoutException or IOException)
        {
            throw new BadInputException("This command is for the program itself: nobody else reads what it measures.");
        }

        using StreamReader parent = new(pipe, leaveOpen: true);
        try
        {
            return await AnswerAsync(kind, parent, pipe, host);
        }
        catch (IOException)
        {
            // The parent has ended, so nobody reads the answer.
            return ExitCode.Interrupted;
        }
    }

    private static async Task<int> AnswerAsync(string kind, StreamReader parent, Stream answers, WeirHost host)
    {
        string order = await parent.ReadLineAsync(CancellationToken.None) ?? "";
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(host.Stop);
        using TurnSignal turns = new();
        Watch(parent, turns, stop);
        int code = ExitCode.Success;
        try
        {
            IAsyncEnumerable<MeasureAnswer> rounds = kind switch
            {
                HashCommand.Name => HashRounds.RunAsync(Parse<HashOrder>(order), stop.Token),
                MeasuringProcess.WorkerKind => WorkerRounds.RunAsync(Parse<WorkerOrder>(order), answer => Write(answers, answer), turns, stop.Token),
                _ => throw new BadInputException($"There is no kind of measurement called '{kind}'."),
            };
            await foreach (MeasureAnswer answer in rounds)
            {
                Write(answers, answer);
            }
        }
        catch (Exception e) when (e is not IOException)
        {
            code = ExitCode.Failure;
            Write(answers, new MeasureAnswer(Failure: e.Message));
        }

        Write(answers, SelfProcess.End);
        return code;
    }

    // A line tells the process to take its turn or to stop. The end of the pipe means that the parent has ended.
    private static void Watch(StreamReader parent, TurnSignal turns, CancellationTokenSource stop)
    {
        Thread watch = new(() =>
        {
            try
            {
                while (turns.TryReceive(parent.ReadLine()))
                {
                }
            }
            catch (Exception e) when (e is IOException or ObjectDisposedException)
            {
                // The same as its end, or all is done already.
            }

            try
            {
                stop.Cancel();
            }
            catch (ObjectDisposedException)
            {
                // All is done already.
            }
        })
        {
            IsBackground = true,
            Name = "parent",
        };
        watch.Start();
    }

    private static void Write(Stream answers, MeasureAnswer answer) => Write(answers, MeasuringProcess.LineOf(answer));

    private static void Write(Stream answers, string line)
    {
        // The rounds and what they wait for come from different threads.
        lock (AnswersLock)
        {
            answers.Write(Encoding.UTF8.GetBytes(line + "\n"));
        }
    }

    private static T Parse<T>(string order)
    {
        try
        {
            return JsonSerializer.Deserialize<T>(order, MeasureJson.Line) ?? throw new JsonException("it is empty");
        }
        catch (JsonException e)
        {
            throw new BadInputException($"This command is only for the program itself, which starts it with an order that it can read: {e.Message}");
        }
    }
}
