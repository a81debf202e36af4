namespace Weir.TestKit;

/// <summary>Tables in which any two values of two columns stand together in some row, with far fewer rows than all combinations have.</summary>
/// <remarks>
/// A defect that needs three certain values at once may get through such a table. So it is for tests beside which random plans draw from all combinations.
/// The same lists give the same table, always.
/// </remarks>
public static class Pairs
{
    /// <summary>The rows of a table, as the indices of their values.</summary>
    /// <param name="counts">How many values each column has; two columns or more, none of them empty.</param>
    /// <remarks>
    /// Row by row: from the first pair that no row has yet, each further column gets the value with which the row has the most pairs that are missing. The
    /// values take turns where several have as many, so that each comes about as often as any other.
    /// </remarks>
    public static IReadOnlyList<int[]> Rows(params int[] counts)
    {
        ArgumentNullException.ThrowIfNull(counts);
        if (counts.Length < 2 || counts.Any(static count => count < 1))
        {
            throw new ArgumentOutOfRangeException(nameof(counts), string.Join(", ", counts), "There must be two columns at least, each with a value at least.");
        }

        var rows = new List<int[]>();
        var missing = new Missing(counts);
        while (missing.First is { } first)
        {
            int[] row = [.. counts.Select(static _ => -1)];
            (row[first.Column], row[first.Other]) = (first.Value, first.OtherValue);
            for (int column = 0; column < row.Length; column++)
            {
                if (row[column] < 0)
                {
                    row[column] = Enumerable.Range(0, counts[column])
                        .MaxBy(value => (missing.Gain(row, column, value), -rows.Count(r => r[column] == value)));
                }
            }

            missing.Cover(row);
            rows.Add(row);
        }

        return rows;
    }

    /// <summary>The pairs that no row has yet.</summary>
    private sealed class Missing
    {
        private readonly HashSet<(int Column, int Value, int Other, int OtherValue)> _pairs = [];
        private readonly Queue<(int Column, int Value, int Other, int OtherValue)> _order = new();

        public Missing(int[] counts)
        {
            for (int column = 0; column < counts.Length; column++)
            {
                for (int other = column + 1; other < counts.Length; other++)
                {
                    for (int i = 0; i < counts[column] * counts[other]; i++)
                    {
                        _order.Enqueue((column, i / counts[other], other, i % counts[other]));
                    }
                }
            }

            _pairs.UnionWith(_order);
        }

        public (int Column, int Value, int Other, int OtherValue)? First
        {
            get
            {
                while (_order.TryPeek(out (int, int, int, int) pair) && !_pairs.Contains(pair))
                {
                    _order.Dequeue();
                }

                return _order.Count > 0 ? _order.Peek() : null;
            }
        }

        /// <summary>How many missing pairs a row gets with a value.</summary>
        public int Gain(int[] row, int column, int value) => Enumerable.Range(0, row.Length).Count(
            other => row[other] >= 0 && other != column && _pairs.Contains(Of(column, value, other, row[other])));

        public void Cover(int[] row)
        {
            for (int column = 0; column < row.Length; column++)
            {
                for (int other = column + 1; other < row.Length; other++)
                {
                    _pairs.Remove((column, row[column], other, row[other]));
                }
            }
        }

        private static (int Column, int Value, int Other, int OtherValue) Of(int column, int value, int other, int otherValue) =>
            column < other ? (column, value, other, otherValue) : (other, otherValue, column, value);
    }
}
