namespace Weir.Cli.Processes;

/// <summary>A child process that measures: how it is started, and the lines that it answers with.</summary>
internal static class MeasuringProcess
{
    /// <summary>The command that it runs.</summary>
    public const string Command = "measure";

    /// <summary>The kind of order of the commands over workloads.</summary>
    public const string WorkerKind = "workers";

    private const string Ready = "ready ";
    private const string Rate = "rate ";
    private const string Disturbed = "disturbed";

    /// <summary>Starts a new process of this program that runs rounds.</summary>
    /// <param name="kind">The command that they belong to.</param>
    /// <param name="order">What to do.</param>
    /// <param name="variables">Environment variables that the process gets besides those of this one.</param>
    /// <param name="answer">Gets each round as it ends, and what there is to know at the end.</param>
    /// <param name="printed">Gets each line that the measured code prints.</param>
    /// <param name="stop">Ends it. The current round is returned as partial.</param>
    /// <param name="words">What it is told meanwhile; <see langword="null"/> for nothing.</param>
    /// <exception cref="InvalidOperationException">It could not measure.</exception>
    public static async Task RunAsync<TOrder>(
        string kind, TOrder order, IReadOnlyDictionary<string, string>? variables, Action<MeasureAnswer> answer, Action<string> printed, CancellationToken stop,
        ChannelReader<string>? words = null)
    {
        string? failure = null;
        await SelfProcess.RunAsync(
            [Command, kind],
            JsonSerializer.Serialize(order, MeasureJson.Line),
            line =>
            {
                MeasureAnswer said = AnswerOf(line);
                failure ??= said.Failure;
                answer(said);
            },
            printed,
            variables,
            words,
            stop);
        if (failure is not null && !stop.IsCancellationRequested)
        {
            throw new InvalidOperationException(failure);
        }
    }

    // What is said before and between rounds is no JSON: it must be cheap, and the first JSON has a half second of compiling behind it, beside a round.
    public static string LineOf(MeasureAnswer answer) => answer switch
    {
        { Rate: { } rate } =>
            string.Create(CultureInfo.InvariantCulture, $"{Rate}{rate:R} {answer.Room:R} {(answer.IsDisturbed ? Disturbed : "")}"),
        { IsReady: true } => string.Create(CultureInfo.InvariantCulture, $"{Ready}{answer.Batch}"),
        _ => JsonSerializer.Serialize(answer, MeasureJson.Line),
    };

    public static MeasureAnswer AnswerOf(string line)
    {
        if (line.StartsWith(Ready, StringComparison.Ordinal))
        {
            return new MeasureAnswer(IsReady: true, Batch: int.TryParse(line.AsSpan(Ready.Length), CultureInfo.InvariantCulture, out int batch) ? batch : null);
        }

        if (!line.StartsWith(Rate, StringComparison.Ordinal))
        {
            return JsonSerializer.Deserialize<MeasureAnswer>(line, MeasureJson.Line)!;
        }

        string[] figures = line[Rate.Length..].Split(' ');
        return new MeasureAnswer(
            Rate: double.Parse(figures[0], CultureInfo.InvariantCulture),
            Room: figures[1].Length > 0 ? double.Parse(figures[1], CultureInfo.InvariantCulture) : null,
            IsDisturbed: figures[2] == Disturbed);
    }
}
