import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_spaces(self):
        self.assertEqual(slug("Good  Morning"), "good-morning")


if __name__ == "__main__":
    unittest.main()
