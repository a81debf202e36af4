namespace Weir.Lab.Suites;

/// <summary>Document 002's sum of the large half of numbers, with a branch that the processor must guess and without one.</summary>
[DisassemblyDiagnoser(exportHtml: true)]
public class DeckBranchBenchmarks
{
    private const int Count = 32_767;
    private readonly int[] _sorted;
    private readonly int[] _unsorted = new int[Count];

    /// <summary>Makes the numbers, of which half are large, in random order and in that of their size.</summary>
    public DeckBranchBenchmarks()
    {
        Random random = new(42);
        for (int i = 0; i < Count; i++)
        {
            _unsorted[i] = random.Next(256);
        }

        _sorted = [.. _unsorted.Order()];
    }

    /// <summary>The branch can be guessed.</summary>
    /// <returns>The sum.</returns>
    [Benchmark(Baseline = true)]
    public int SortedBranch() => Branch(_sorted);

    /// <summary>The branch cannot be guessed.</summary>
    /// <returns>The sum.</returns>
    [Benchmark]
    public int UnsortedBranch() => Branch(_unsorted);

    /// <summary>There is no branch.</summary>
    /// <returns>The sum.</returns>
    [Benchmark]
    public int SortedBranchless() => Branchless(_sorted);

    /// <summary>There is no branch.</summary>
    /// <returns>The sum.</returns>
    [Benchmark]
    public int UnsortedBranchless() => Branchless(_unsorted);

    private static int Branch(int[] data)
    {
        int sum = 0;
        for (int i = 0; i < Count; i++)
        {
            if (data[i] >= 128)
            {
                sum += data[i];
            }
        }

        return sum;
    }

    private static int Branchless(int[] data)
    {
        int sum = 0;
        for (int i = 0; i < Count; i++)
        {
            sum += ~((data[i] - 128) >> 31) & data[i];
        }

        return sum;
    }
}
