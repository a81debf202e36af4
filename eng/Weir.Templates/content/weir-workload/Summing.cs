using Weir.Lab.Workers;

// A workload: with a set-up that is not measured, something of its own for each worker, and a check of what came out.
public class Summing : IWorkload
{
    private int[] _numbers = [];

    public int Size { get; set; } = 100;

    // Once, before anything is measured.
    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        _numbers = [.. Enumerable.Range(1, Size)];
        return default;
    }

    // For each worker; what it returns is called again and again. Operation.OfAsync takes asynchronous code.
    public Operation CreateOperation(WorkerContext context) => Operation.Of(Sum);

    // After each round, when all workers have ended. A sentence says what is wrong, and makes the round invalid.
    public string? Check(RoundTotals round) => Sum() == Size * (Size + 1) / 2 ? null : $"The sum is {Sum()}.";

    private int Sum()
    {
        int sum = 0;
        foreach (int number in _numbers)
        {
            sum += number;
        }

        return sum;
    }
}
