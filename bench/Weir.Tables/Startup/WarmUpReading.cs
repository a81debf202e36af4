namespace Weir.Tables.Startup;

/// <summary>What one process has measured: the time of a call in nanoseconds, the mean over the first so many.</summary>
/// <param name="First">The first call.</param>
/// <param name="Ten">The first ten.</param>
/// <param name="Hundred">The first hundred.</param>
/// <param name="Second">Those of the first second, at least a hundred.</param>
internal sealed record WarmUpReading(double First, double Ten, double Hundred, double Second)
{
    private static readonly TimeSpan Whole = TimeSpan.FromSeconds(1);

    /// <summary>The names of the values, in their order.</summary>
    public static IReadOnlyList<string> Spans { get; } = ["first call", "first 10", "first 100", "first second"];

    public IReadOnlyList<double> Values => [First, Ten, Hundred, Second];

    /// <summary>Measures a call in this process, which has not made any yet.</summary>
    public static async Task<WarmUpReading> MeasureAsync(Func<Task<long>> call, long sum)
    {
        double[] values = new double[3];
        long start = Stopwatch.GetTimestamp();
        int calls = 0;
        TimeSpan elapsed = TimeSpan.Zero;
        while (calls < 100 || elapsed < Whole)
        {
            if (await call() is var given && given != sum)
            {
                throw new InvalidOperationException($"The sum of the results is {given}, but must be {sum}.");
            }

            calls++;
            elapsed = Stopwatch.GetElapsedTime(start);
            if (calls is 1 or 10 or 100)
            {
                values[calls / 10 == 0 ? 0 : calls == 10 ? 1 : 2] = elapsed.TotalNanoseconds / calls;
            }
        }

        return new WarmUpReading(values[0], values[1], values[2], elapsed.TotalNanoseconds / calls);
    }

    public static WarmUpReading Parse(string line)
    {
        double[] values = [.. line.Split(' ').Select(static value => double.Parse(value, CultureInfo.InvariantCulture))];
        return new WarmUpReading(values[0], values[1], values[2], values[3]);
    }

    public override string ToString() => string.Join(' ', Values.Select(static value => value.ToString("R", CultureInfo.InvariantCulture)));
}
