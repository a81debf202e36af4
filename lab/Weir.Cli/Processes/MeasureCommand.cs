using System.CommandLine;
using System.Globalization;
using System.IO.Pipes;
using System.Text;
using System.Text.Json;
using System.Threading.Channels;
using Weir.Cli.Hash;
using Weir.Cli.Hosting;
using Weir.Cli.Results;
using Weir.Cli.Run;

namespace Weir.Cli.Processes;

/// <summary>The command that a measuring process runs: it reads its order from a pipe, and writes one line for each round to it. Not for users.</summary>
internal static class MeasureCommand
{
    public const string Name = "measure";

    private const string Rate = "rate ";
    private const string Disturbed = "disturbed";
    private static readonly TimeSpan ConnectPatience = TimeSpan.FromSeconds(10);

    /// <summary>The kind of order that the commands over workloads give.</summary>
    public const string WorkerKind = "workers";

    public static Command Create(CliHost host)
    {
        Argument<string> kind = new("kind");
        Argument<string> pipe = new("pipe");
        Command command = new(Name, "Runs rounds for another process of this program.") { kind, pipe };
        command.Hidden = true;
        command.SetAction((parsed, _) => RunAsync(parsed.GetRequiredValue(kind), parsed.GetRequiredValue(pipe), host));
        return command;
    }

    /// <summary>Starts a new process of this program that runs rounds.</summary>
    /// <param name="kind">The command that they belong to.</param>
    /// <param name="order">What to do.</param>
    /// <param name="variables">Environment variables that the process gets besides those of this one.</param>
    /// <param name="answer">Gets each round as it ends, and what there is to know at the end.</param>
    /// <param name="printed">Gets each line that the measured code prints.</param>
    /// <param name="stop">Ends it; the round that is under way comes back as partial.</param>
    /// <param name="words">What it is told meanwhile; <see langword="null"/> for nothing.</param>
    /// <exception cref="InvalidOperationException">It could not measure.</exception>
    public static async Task InNewProcessAsync<TOrder>(
        string kind, TOrder order, IReadOnlyDictionary<string, string>? variables, Action<MeasureAnswer> answer, Action<string> printed, CancellationToken stop, ChannelReader<string>? words = null)
    {
        string? failure = null;
        await SelfProcess.RunAsync(
            [Name, kind],
            JsonSerializer.Serialize(order, ResultJson.Line),
            line =>
            {
                MeasureAnswer said = AnswerOf(line);
                failure ??= said.Failure;
                answer(said);
            },
            printed,
            variables,
            words,
            stop).ConfigureAwait(false);
        if (failure is not null && !stop.IsCancellationRequested)
        {
            throw new InvalidOperationException(failure);
        }
    }

    private static async Task<int> RunAsync(string kind, string name, CliHost host)
    {
        NamedPipeClientStream pipe = new(".", name, PipeDirection.InOut, PipeOptions.Asynchronous | PipeOptions.CurrentUserOnly);
        await using (pipe.ConfigureAwait(false))
        {
            try
            {
                await pipe.ConnectAsync(ConnectPatience, host.Stop).ConfigureAwait(false);
            }
            catch (Exception e) when (e is TimeoutException or IOException)
            {
                throw new BadInputException("This command is for the program itself: nobody listens to what it would measure.");
            }

            using StreamReader parent = new(pipe, leaveOpen: true);
            try
            {
                return await AnswerAsync(kind, parent, pipe, host).ConfigureAwait(false);
            }
            catch (IOException)
            {
                // The parent is gone, and with it whoever wanted to know.
                return ExitCode.Interrupted;
            }
        }
    }

    private static async Task<int> AnswerAsync(string kind, StreamReader parent, Stream answers, CliHost host)
    {
        string order = await parent.ReadLineAsync(CancellationToken.None).ConfigureAwait(false) ?? "";
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(host.Stop);
        using TurnGate turns = new();
        Watch(parent, turns, stop);
        int code = ExitCode.Success;
        try
        {
            IAsyncEnumerable<MeasureAnswer> rounds = kind switch
            {
                HashCommand.Name => HashRounds.RunAsync(Parse<HashOrder>(order), stop.Token),
                WorkerKind => WorkerRounds.RunAsync(Parse<WorkerOrder>(order), answer => Tell(answers, answer), turns, stop.Token),
                _ => throw new BadInputException($"There is nothing to measure that is called '{kind}'."),
            };
            await foreach (MeasureAnswer answer in rounds.ConfigureAwait(false))
            {
                Tell(answers, answer);
            }
        }
        catch (Exception e) when (e is not IOException)
        {
            code = ExitCode.Failure;
            Tell(answers, new MeasureAnswer(Failure: e.Message));
        }

        Tell(answers, SelfProcess.End);
        return code;
    }

    // A line is the parent's word about turns or its wish to stop, and the end of the pipe the parent's end.
    private static void Watch(StreamReader parent, TurnGate turns, CancellationTokenSource stop)
    {
        Thread watch = new(() =>
        {
            try
            {
                while (turns.Hear(parent.ReadLine()))
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

    // A rate not as JSON: it is written between rounds, and must cost nothing.
    internal static string LineOf(MeasureAnswer answer) => answer.Rate is { } rate
        ? string.Create(CultureInfo.InvariantCulture, $"{Rate}{rate:R} {answer.Room:R} {(answer.IsDisturbed ? Disturbed : "")}")
        : JsonSerializer.Serialize(answer, ResultJson.Line);

    internal static MeasureAnswer AnswerOf(string line)
    {
        if (!line.StartsWith(Rate, StringComparison.Ordinal))
        {
            return JsonSerializer.Deserialize<MeasureAnswer>(line, ResultJson.Line)!;
        }

        string[] figures = line[Rate.Length..].Split(' ');
        return new MeasureAnswer(
            Rate: double.Parse(figures[0], CultureInfo.InvariantCulture),
            Room: figures[1].Length > 0 ? double.Parse(figures[1], CultureInfo.InvariantCulture) : null,
            IsDisturbed: figures[2] == Disturbed);
    }

    private static void Tell(Stream answers, MeasureAnswer answer) => Tell(answers, LineOf(answer));

    private static void Tell(Stream answers, string line)
    {
        // The rounds and what they wait for come from different threads.
        lock (answers)
        {
            answers.Write(Encoding.UTF8.GetBytes(line + "\n"));
        }
    }

    private static T Parse<T>(string order)
    {
        try
        {
            return JsonSerializer.Deserialize<T>(order, ResultJson.Line) ?? throw new JsonException("it is empty");
        }
        catch (JsonException e)
        {
            throw new BadInputException($"This command is for the program itself; it cannot use its order: {e.Message}");
        }
    }
}
